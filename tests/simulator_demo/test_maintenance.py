"""AWS Health announces work, on the embedded AWS and by the synthesized templates: drained, rebooted, returned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState
from simulator.demo.house import House
from tests.simulator_demo.scenarios import house, scenario, stand

pytestmark = pytest.mark.slow

QUICK = {"controller_launch": "1m", "worker_launch": "2m", "lifecycle": "1m", "reboot": "5m"}
Json = dict[str, Any]


def maintained(it: House, instance_id: str) -> Incident | None:
    found = [i for i in it["small"].known() if i.instance_id == instance_id and i.cause is CauseClass.MAINTENANCE]
    return found[-1] if found else None


def ended(it: House, instance_id: str) -> Incident | None:
    found = maintained(it, instance_id)
    return found if found and found.state is IncidentState.CLOSED else None


def test_two_nodes_through_their_window_and_a_third_whose_window_is_called_off(tmp_path: Path) -> None:
    with house("small", scenario("shortage", fault=[], timing=QUICK), tmp_path, scale=400) as it:
        stand(it, "small")
        workers = sorted(it["small"].workers(), key=lambda n: n["index"])
        one, two, third = (workers[n]["instance_id"] for n in (1, 2, 3))
        names = {n["instance_id"]: n["hostname"].split(".")[0] for n in workers}
        times = {"starts": "+150m", "ends": "+200m"}
        it.aws.control("announce", instance_ids=[one, two], pages=2, effect="reboot", event="both", **times)
        it.aws.control("announce", instance_ids=[third], event="off", **times)
        it.aws.control("announce", entities=["UNKNOWN"], event="nobody", **times)
        it.wait("three incidents", lambda: all(maintained(it, n) for n in (one, two, third)), 60, it["small"].known)
        it.aws.control("announce", instance_ids=[third], event="off", status="closed", **times)

        slurm = it.slurm["small"].nodes
        it.wait("both to be drained", lambda: all(slurm[names[n]].drained for n in (one, two)), 60)
        assert it.calls() == []
        for node in (one, two):
            it.wait("the end", lambda node=node: ended(it, node), 90, lambda node=node: maintained(it, node))
        ends = {n: str(found.outcome) for n in (one, two, third) if (found := ended(it, n))}
        assert ends == {one: "returned", two: "returned", third: "ignored"}
        it.wait("our drains to be taken back", lambda: not any(slurm[names[n]].drained for n in (one, two)), 30)
        commands = [(c[0].verb.value, c[0].slurm_name) for c in it.slurm["small"].commands]
        assert sorted(commands) == sorted((v, names[n]) for v in ("cordon", "resume") for n in (one, two))
        boots = {n["instance_id"]: n["boots"] for n in it["small"].workers()}
        assert boots[one] == boots[two] > boots[third], "the drained ones were rebooted in their window"
        assert it.calls() == [], "nothing is asked of HyperPod"
        it.wait("the announcement", lambda: it.messages("plans work on 2 nodes"), 30)
        assert it.messages("instances that it does not name")
        assert it.messages("has called off")
