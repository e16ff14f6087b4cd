from __future__ import annotations

from dataclasses import replace

import pytest

from roundhouse.line.proof import Expected, Proof, judge
from roundhouse.line.state import ClusterEvent, NodeStatus, SlurmNode, SlurmSnapshot
from tests.line.build import NOW, ago, cluster, iid, node

NEW = cluster(node(1, instance_id=iid(99)))
EXPECTED = Expected("n-1", None, not_instance=iid(1))


def told(**changes):
    event = ClusterEvent("ev-1", ago(50), "Info", "Instance", "lifecycle started", "workers", iid(99), "n-1")
    return replace(event, **changes)


def status(value):
    return cluster(node(1, value, instance_id=iid(99)))


@pytest.mark.parametrize(
    ("live", "expected", "events", "age", "verdict"),
    [
        pytest.param(NEW, EXPECTED, (), 300, Proof.PASS, id="running and quiet"),
        pytest.param(NEW, EXPECTED, (told(),), 300, Proof.PASS, id="information is quiet"),
        pytest.param(NEW, EXPECTED, (), 299, Proof.WAIT, id="not quiet for long enough"),
        pytest.param(None, EXPECTED, (), 300, Proof.INCONCLUSIVE, id="live state unreadable"),
        pytest.param(cluster(nodes=()), EXPECTED, (), 300, Proof.INCONCLUSIVE, id="empty list"),
        pytest.param(NEW, EXPECTED, None, 300, Proof.INCONCLUSIVE, id="events unreadable"),
        pytest.param(NEW, Expected(None, None), (), 300, Proof.INCONCLUSIVE, id="nobody knows which node"),
        pytest.param(cluster(), EXPECTED, (), 300, Proof.FAIL, id="the old instance again"),
        pytest.param(NEW, Expected("n-1", iid(5)), (), 300, Proof.INCONCLUSIVE, id="yet another instance"),
        pytest.param(cluster(), Expected(None, iid(1)), (), 300, Proof.PASS, id="rebooted: same instance"),
        pytest.param(status(NodeStatus.PENDING), EXPECTED, (), 600, Proof.WAIT, id="still coming"),
        pytest.param(status(NodeStatus.PENDING), EXPECTED, (), 5401, Proof.FAIL, id="never came"),
        pytest.param(status(NodeStatus.FAILURE), EXPECTED, (), 300, Proof.FAIL, id="failure"),
        pytest.param(status(NodeStatus.UNKNOWN), EXPECTED, (), 300, Proof.INCONCLUSIVE, id="unknown status"),
        pytest.param(cluster(node(1, instance_id=None)), EXPECTED, (), 300, Proof.WAIT, id="no instance yet"),
        pytest.param(cluster(node(1, instance_id=None)), EXPECTED, (), 5401, Proof.FAIL, id="no instance in time"),
        pytest.param(NEW, EXPECTED, (told(level="Error"),), 300, Proof.FAIL, id="an error event"),
        pytest.param(NEW, EXPECTED, (told(lifecycle_state="Failed"),), 300, Proof.FAIL, id="lifecycle script failed"),
        pytest.param(NEW, EXPECTED, (told(level="Warn", description="is unhealthy"),), 300, Proof.FAIL, id="unhealthy"),
        pytest.param(NEW, EXPECTED, (told(instance_id=None, level="Error"),), 300, Proof.FAIL, id="by logical id"),
        pytest.param(
            NEW, EXPECTED, (told(instance_id=iid(50), level="Error"),), 300, Proof.PASS, id="an earlier attempt's"
        ),
        pytest.param(
            NEW, EXPECTED, (told(instance_id=iid(2), logical_id="n-2", level="Error"),), 300, Proof.PASS, id="others"
        ),
    ],
)
def test_proof(live, expected, events, age, verdict):
    proof, reason = judge(live, expected, events, ago(age), NOW, quiet_s=300, timeout_s=5400)
    assert proof is verdict
    assert reason


@pytest.mark.parametrize(
    ("state", "age", "verdict"),
    [
        ("DOWN*+DRAIN", 300, Proof.WAIT),
        ("IDLE*", 300, Proof.WAIT),
        ("INVAL", 300, Proof.WAIT),
        ("DOWN*+DRAIN", 5401, Proof.FAIL),
        ("DOWN+DRAIN", 300, Proof.PASS),  # talks, and waits for its drain to be taken back
        ("IDLE+DRAIN", 300, Proof.PASS),
        ("IDLE*+POWERED_DOWN", 300, Proof.PASS),
    ],
)
def test_a_node_that_slurm_cannot_reach_is_not_proved(state, age, verdict):
    seen = SlurmSnapshot(7, ago(10), {"ip-10-1-2-1": SlurmNode("ip-10-1-2-1", state)})
    proof, reason = judge(replace(NEW, slurm=seen), EXPECTED, (), ago(age), NOW, quiet_s=300, timeout_s=5400)
    assert proof is verdict
    assert ("Slurm still has" in reason) is (verdict is not Proof.PASS)
