"""What comparable systems are on record to have done wrong, each as a test that it does not happen here.

Two more are with their like in tests/steps/test_others.py: a drain that people took back by hand, and a second
remediator at work.
"""

from __future__ import annotations

from functools import partial

from roundhouse.contracts.commands import REASON_PREFIX
from roundhouse.contracts.names import REPLAY_SOURCE, SLURM_NODES, SLURM_SOURCE
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.breaker import BreakerState, BreakerStatus
from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Budget
from roundhouse.line.state import NodeStatus
from tests.steps.samples import health, house, worker
from tests.steps.world import World

REBOOT = (Rung.REBOOT, Rung.HUMAN)


def until(world: World, state: str) -> None:
    """Let time pass until the only execution waits there."""
    for _ in range(1000):
        if world.state() == state:
            return
        world.run(for_s=10)
    raise AssertionError(f"never came to {state}: {world.state()}")


def test_event_that_arrives_during_a_reboot_is_not_stranded() -> None:
    world = house(ladder=REBOOT)
    instance = worker(world, 3)
    assert world.take(health(world, instance)) == []
    until(world, "WaitBeforeProving")
    assert world.take(health(world, instance)) == []  # broken still, and HyperPod has it Running all the same
    world.run()
    assert world.incident(instance).outcome is Outcome.ESCALATED
    assert [c.verb.value for c in world.agent.commands] == ["cordon"]  # what was not proved stays drained


def test_bad_news_from_after_a_repair_count_though_they_come_after_its_end() -> None:
    world = house(ladder=REBOOT)
    instance = worker(world, 3)
    assert world.take(health(world, instance)) == []
    until(world, "WaitBeforeProving")
    late = health(world, instance)
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED
    assert world.take(late) == []
    assert len(world.incidents.records) == 2


def test_good_news_after_bad_ones_let_the_proof_pass() -> None:
    world = house(ladder=REBOOT)
    instance = worker(world, 3)
    assert world.take(health(world, instance)) == []
    until(world, "WaitBeforeProving")
    bad = health(world, instance)
    world.clock.advance(5)
    assert world.take(health(world, instance, "Healthy"), bad) == []
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED


def test_old_event_replayed_after_a_restart_does_not_reboot_a_node_back_in_service() -> None:
    """A consumer that began again at the start of its stream rebooted machines that had long been repaired."""
    world = house(ladder=REBOOT)
    instance = worker(world, 3)
    old = health(world, instance)
    assert world.take(old) == []
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED
    told_anew = {**old, "id": "the same news under another id"}
    replayed = {"source": REPLAY_SOURCE, "detail-type": "x", "id": "r", "detail": {"original": old}}
    world.clock.advance(1800)
    for event in (old, told_anew, {**replayed, "time": world.now.isoformat()}):
        assert world.take(event) == []
    world.run()
    assert len(world.cluster.made("reboot")) == 1
    assert len(world.incidents.records) == 1


def test_closing_the_breaker_replays_no_old_decisions() -> None:
    """What was held while the breaker was open was done at once when it closed, days later."""
    world = house(ladder=REBOOT)
    instances = [worker(world, number) for number in range(8)]
    world.take(*[health(world, instance) for instance in instances])
    world.run(for_s=1200)
    assert world.breaker.records["train"].status is BreakerStatus.OPEN
    world.run(for_s=3 * 86400)
    world.breaker.records["train"] = BreakerState(version=world.breaker.records["train"].version)
    called = len(world.cluster.calls)
    world.run()
    assert all(i.state is IncidentState.CLOSED for i in world.incidents.records.values())
    assert len(world.cluster.calls) == called


def test_open_breaker_lets_recoveries_pass() -> None:
    """A breaker that stopped everything kept healthy nodes marked as broken."""
    world = house(ladder=REBOOT)
    instances = [worker(world, number) for number in range(8)]
    world.take(*[health(world, instance) for instance in instances])
    world.run(for_s=300)
    assert world.breaker.records["train"].status is BreakerStatus.OPEN
    world.take(*[health(world, instance, "Healthy") for instance in instances])
    world.run(for_s=1200)
    assert {i.outcome for i in world.incidents.records.values()} == {Outcome.RECOVERED}
    assert world.breaker.records["train"].status is BreakerStatus.CLOSED
    assert not world.cluster.calls


def test_node_that_fails_again_and_again_is_not_rebooted_without_limit() -> None:
    """A reboot that helped for a minute was repeated for ever."""
    world = house(ladder=REBOOT, budgets={Rung.REBOOT: Budget(per_day=2, cooldown_s=60)})
    instance = worker(world, 3)
    for _ in range(12):
        world.take(health(world, instance))
        world.run()
        world.clock.advance(2 * 3600)
    assert len(world.cluster.made("reboot")) <= 2
    assert Outcome.ESCALATED in {i.outcome for i in world.incidents.records.values()}


def test_line_does_not_feed_on_its_own_output() -> None:
    """An analyser took its own repair's effects for new faults: our drain, our reboot, our replacement."""
    world = house(ladder=(Rung.REPLACE, Rung.HUMAN))
    instance = worker(world, 3)
    name = next(n.hostname for n in world.cluster.nodes if n.instance_id == instance).split(".")[0]
    assert world.take(health(world, instance)) == []

    def report(sequence: int, state: str, reason: str) -> None:
        behind = next(n.instance_id for n in world.cluster.nodes if (n.hostname or "").startswith(name + "."))
        node = {"name": name, "state": state, "reason": reason, "jobs": [], "instance_id": behind}
        detail = {"version": 1, "cluster": "train", "sequence": sequence, "taken_at": world.now.isoformat()}
        envelope = {"source": SLURM_SOURCE, "detail-type": SLURM_NODES, "id": f"s{sequence}"}
        world.take({**envelope, "time": world.now.isoformat(), "detail": {**detail, "nodes": [node]}})

    reason = f"{REASON_PREFIX} {world.incident(instance).incident_id} x"
    for number in range(12):  # drained, then down under our hands, then drained and new
        state = "IDLE+DRAIN" if number < 4 else "DOWN*+DRAIN" if number < 7 else "IDLE+DRAIN"
        world.later(60 + 60 * number, partial(report, number + 1, state, reason))
    for event in list(world.cluster.told):
        assert event.level != "Error"
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED
    assert len(world.executions) == 1
    assert [c.operation for c in world.cluster.calls] == ["replace"]


def test_history_that_was_lost_is_not_skipped_in_silence() -> None:
    """A consumer whose position was too old went on at the newest event, and nobody knew what it had missed."""
    world = house(ladder=REBOOT)
    instance = worker(world, 3)
    world.cluster.set_status(instance, NodeStatus.FAILURE, "NvidiaErrorTerminate")  # and no message came
    for _ in range(4):
        world.reconcile()
        world.run(for_s=900)
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED


def test_snapshot_of_a_controller_that_has_just_started_condemns_nobody() -> None:
    """Monitors that began before the nodes had registered reported everything as fatal."""
    world = house(ladder=REBOOT)
    names = [(n.hostname or "").split(".")[0] for n in world.cluster.nodes if n.group == "workers"]

    def report(sequence: int, state: str, reason: str) -> None:
        nodes = [{"name": name, "state": state, "reason": reason, "jobs": []} for name in names]
        at = world.now.isoformat()
        detail = {"version": 1, "cluster": "train", "sequence": sequence, "taken_at": at, "nodes": nodes}
        envelope = {"source": SLURM_SOURCE, "detail-type": SLURM_NODES, "id": f"s{sequence}", "time": at}
        assert world.take({**envelope, "detail": detail}) == []

    report(1, "DOWN*", "Not responding")
    world.later(120, partial(report, 2, "IDLE", ""))
    world.run()
    assert not world.cluster.calls
    assert not world.agent.commands
    assert len(world.told(NoticeKind.BREAKER_OPENED)) == 1


def test_old_condition_of_a_replaced_device_is_over_with_its_instance() -> None:
    """The condition was kept by node name, and the new device under that name was never well again."""
    world = house(ladder=(Rung.REPLACE, Rung.HUMAN))
    instance = worker(world, 3)
    late = health(world, instance)
    assert world.take(health(world, instance)) == []
    world.run()
    new = world.incident(instance).current_instance_id
    assert new not in {None, instance}
    world.clock.advance(60)
    assert world.take({**late, "id": "late news of the old one"}) == []
    world.run()
    assert len(world.cluster.made("replace")) == 1
    assert [i.instance_id for i in world.incidents.records.values()] == [instance]
    assert [c.verb.value for c in world.agent.commands] == ["cordon", "resume"]


def test_nothing_is_repeated_for_a_node_that_was_deleted() -> None:
    """A repair was tried again for ever, for a node that somebody had deleted meanwhile."""
    world = house(ladder=REBOOT)
    instance = worker(world, 3)
    assert world.take(health(world, instance)) == []
    until(world, "WaitBeforeActing")
    world.cluster.nodes = [node for node in world.cluster.nodes if node.instance_id != instance]
    world.run()
    assert world.incident(instance).outcome is Outcome.SUPERSEDED
    assert not world.cluster.calls
