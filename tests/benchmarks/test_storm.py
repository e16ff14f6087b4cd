from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.storm import BROKEN, Storm, main, make_storm
from roundhouse.line.incident import IncidentState
from tests.steps.samples import house
from tests.steps.world import World


@pytest.mark.slow
@pytest.mark.alone
def test_a_small_storm_loses_nothing_and_starts_what_is_broken(capsys):
    assert main(events=300) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (figures["lost"], figures["events"], figures["real_incidents"]) == (0, 300, 40)
    assert figures["executions"] == 40
    assert figures["calls"]["states:StartExecution"] >= 40
    assert figures["one_by_one"]["lost"] == 0
    per_message = {
        way: sum(row["calls"].values()) / row["events"]
        for way, row in (("batches", figures), ("one by one", figures["one_by_one"]))
    }
    assert per_message["batches"] < per_message["one by one"]


def storm_over(world: World, amount: int) -> Storm:
    nodes = [node for node in world.cluster.nodes if node.group == "workers"]
    workers = [{"instance_id": node.instance_id, "hostname": f"{node.hostname}.internal"} for node in nodes]
    deployed: Any = SimpleNamespace(cluster=world.spec.cluster, workers=lambda: workers)
    return make_storm(deployed, world.now, amount)


def test_what_a_storm_is_about_is_what_the_line_makes_of_it_in_any_order():
    """The generator's truth on ports in memory: one open incident and one workflow for each broken node, none else."""
    world = house(size=64)
    storm = storm_over(world, 2_000)
    for start in range(0, len(storm.messages), 10):
        assert world.take(*storm.messages[start : start + 10]) == []
    opened = [i for i in world.incidents.records.values() if i.state is not IncidentState.CLOSED]
    assert Counter(i.instance_id for i in opened) == Counter(storm.broken)
    assert {i.incident_id for i in opened} == world.executions.keys()
    assert len(storm.broken) == BROKEN
    assert min(storm.kinds.values()) > 20, "every kind is in it"
