"""CloudTrail's word of calls: of everybody's, refused ones included, and never of what HyperPod does by itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from roundhouse.contracts import names
from roundhouse.triage import cloudtrail
from simulator.service import Caller
from tests.simulator_world.harness import Bench

KIM = Caller("111122223333", "us-west-2", "arn:aws:iam::111122223333:user/kim")


def trail(bench: Bench) -> list[dict[str, Any]]:
    return [e for e in bench.signals.events if e["type"] == names.API_CALL]


def as_envelope(told: dict[str, Any]) -> dict[str, Any]:
    return {"detail-type": told["type"], "source": told["source"], "detail": told["detail"]}


def test_a_persons_call_is_told_as_our_reader_expects_it(bench: Bench) -> None:
    bench.create(2, NodeRecovery="None")
    node = bench.nodes()[0]["instance_id"]
    bench.call("BatchReplaceClusterNodes", {"ClusterName": "train", "NodeIds": [node]}, caller=KIM)
    bench.run(seconds=1)
    told = trail(bench)[-1]
    assert told["detail"]["requestParameters"] == {"clusterName": "train", "nodeIds": [node]}
    assert told["detail"]["responseElements"]["successful"] == [node]
    [event] = cloudtrail.read(as_envelope(told), datetime.now(UTC))
    assert (event.actor, event.instance_id, event.proposed_action) == ("kim", node, "replace")


def test_a_refused_call_says_so_and_names_no_act(bench: Bench) -> None:
    bench.create(1)
    bench.refused("BatchReplaceClusterNodes", params={"ClusterName": "nowhere", "NodeIds": ["i-0123456789abcdef0"]})
    bench.run(seconds=1)
    told = trail(bench)[-1]
    assert told["detail"]["errorCode"] == "ResourceNotFound"
    assert cloudtrail.read(as_envelope(told), datetime.now(UTC)) == ()


def test_hyperpods_own_repair_leaves_no_record(bench: Bench) -> None:
    bench.create(2, NodeRecovery="Automatic")
    before, node = len(trail(bench)), bench.nodes()[0]["instance_id"]
    bench.control("fail_node", instance_id=node, repair_action="Replace")
    bench.run(minutes=60)
    assert bench.control("own_repairs")["repairs"]
    assert len(trail(bench)) == before


def test_without_a_trail_nothing_is_told(bench: Bench) -> None:
    bench.control("set", quirks={"cloudtrail": False})
    bench.create(1)
    assert trail(bench) == []
