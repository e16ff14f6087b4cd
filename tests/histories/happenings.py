"""What an op does to the house."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

from roundhouse.contracts.names import HYPERPOD_SOURCE
from roundhouse.errors import Throttled, Unavailable
from roundhouse.line.approval import ApprovalStatus
from roundhouse.line.incident import IncidentState
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode, Policy
from roundhouse.line.state import Node, NodeStatus, Pause
from tests.histories.house import BOB, MALLORY, House
from tests.histories.nature import STANDS
from tests.histories.script import Op
from tests.steps.asl import Died
from tests.steps.world import ALICE

STORES = ("incidents", "ledger", "breaker", "runs")


def plan(house: House, op: Op) -> None:
    """Let it happen at its time; an op with `calls` waits for so many calls then: in the midst of a step."""
    what = partial(happen, house, op)
    if op.kind == "dies":
        house.later(op.at_s, lambda: house.gate.at(op.calls, op.number % 2 == 0, partial(_die, house)))
    elif op.calls:
        house.later(op.at_s, lambda: house.gate.at(op.calls, op.number % 2 == 0, lambda: house.aside(what)))
    else:
        house.later(op.at_s, lambda: house.aside(what))


def happen(house: House, op: Op) -> None:
    house.happened[op.kind.replace("_", " ")] += 1
    house.wake()
    KINDS[op.kind](house, op)


def _die(house: House) -> None:
    house.happened["dies"] += 1
    raise Died("killed")


def _node(house: House, op: Op) -> Node | None:
    """The worker at that place, whatever instance stands there now."""
    workers = [n for n in house.cluster.nodes if n.group == "workers" and n.instance_id]
    return workers[op.node % len(workers)] if workers else None


def _standing(house: House, op: Op) -> Node | None:
    node = _node(house, op)
    return node if node and node.status in STANDS else None


# Trouble ---------------------------------------------------------------------------------------------------------
def _break(fault: str, house: House, op: Op) -> None:
    if (node := _standing(house, op)) and node.instance_id:
        house.cluster.break_node(node.instance_id, fault)
        instance = node.instance_id
        house.later(op.number % 40, lambda: house.cluster.found_out(instance))


def _break_in_log(house: House, op: Op) -> None:
    if (node := _standing(house, op)) and node.instance_id:
        house.cluster.break_node(node.instance_id, "soft" if op.number % 2 else "hard")
        house.bus.log_record(node.instance_id, node.group)


def _break_for_slurm(house: House, op: Op) -> None:
    if node := _standing(house, op):
        house.slurm.of(node).silent = True


def _false_alarm(house: House, op: Op) -> None:
    if (node := _standing(house, op)) and node.instance_id:
        instance = node.instance_id
        house.bus.health(instance, "Unhealthy")
        house.later(30 + op.number, lambda: _withdrawn(house, instance))


def _withdrawn(house: House, instance: str) -> None:
    """HyperPod takes a false alarm back, unless the node has really broken meanwhile."""
    if instance not in house.cluster.faults:
        house.bus.health(instance, "Healthy")


def _storm(house: House, op: Op) -> None:
    for place in range(2 + op.number % (house.script.size - 1)):
        _break("soft" if op.number % 2 else "hard", house, replace(op, node=place, number=op.number % 200 + place))


# News ------------------------------------------------------------------------------------------------------------
def _again(house: House, op: Op) -> None:
    if (node := _standing(house, op)) and node.instance_id in house.cluster.faults:
        house.bus.health(node.instance_id or "", "Unhealthy")


def _well(house: House, op: Op) -> None:
    """It heals by itself, and HyperPod says so."""
    if (node := _standing(house, op)) and node.instance_id in house.cluster.faults:
        instance = node.instance_id or ""
        del house.cluster.faults[instance]
        house.cluster.set_status(instance, NodeStatus.RUNNING)
        house.slurm.of(node).silent = False
        house.bus.health(instance, "Healthy")


def _old_message(house: House, op: Op) -> None:
    if house.bus.sent:
        house.bus.deliver(house.bus.sent[op.number % len(house.bus.sent)], 1)


def _replay(house: House, op: Op) -> None:
    """Somebody tries the line out with a documented event, or sends a recorded one again."""
    originals = [one for one in house.bus.sent if one["source"] == HYPERPOD_SOURCE]
    if op.number % 2 and (node := _standing(house, op)) and node.instance_id:
        house.bus.replay(house.bus.made_health(node.instance_id, "Unhealthy", house.now))
    elif originals:
        house.bus.replay(originals[op.number % len(originals)])


def _late_bad_news(house: House, op: Op) -> None:
    """Bad news of an hour ago, of an instance that may be long gone."""
    seen = sorted({t.instance_id for t in house.cluster.taken})
    node = _node(house, op)
    instance = seen[op.number % len(seen)] if seen and op.number % 3 else (node.instance_id if node else None)
    if instance:
        envelope = house.bus.made_health(instance, "Unhealthy", house.now - timedelta(seconds=600 + op.number * 5))
        house.bus.deliver(envelope, 1)


def _forged(house: House, op: Op) -> None:
    """Somebody on the controller says that every node is down; or on a node, that it is broken or well."""
    if op.number % 3 == 0:
        house.slurm.sequence += 1
        names = [(n.hostname or "").split(".")[0] for n in house.cluster.nodes if n.group == "workers"]
        house.bus.snapshot(house.slurm.sequence, [{"name": name, "state": "DOWN*"} for name in names])
    elif (node := _standing(house, op)) and node.instance_id:
        house.bus.log_record(node.instance_id, node.group, "True" if op.number % 2 else "False")


# Others ----------------------------------------------------------------------------------------------------------
def _colleague(operation: str, house: House, op: Op) -> None:
    if node := _standing(house, op):
        house.bus.called(operation, node)
        house.cluster.act(operation, node, "colleague")


def _colleague_deletes(house: House, op: Op) -> None:
    workers = sum(n.group == "workers" for n in house.cluster.nodes)
    if (node := _standing(house, op)) and workers > 3:
        house.bus.called("delete", node)
        house.cluster.delete_by_hand(node)


def _colleague_adds(house: House, op: Op) -> None:
    house.cluster.add_by_hand("workers")


def _colleague_drains(house: House, op: Op) -> None:
    node = _node(house, op)
    if node and not house.slurm.of(node).drained:
        house.slurm.drain(node, f"ticket {op.number}: looking at it")


def _colleague_undrains(house: House, op: Op) -> None:
    if node := _node(house, op):
        house.slurm.of(node).drained, house.slurm.of(node).reason = False, ""


def _recovery(setting: str, house: House, op: Op) -> None:
    house.cluster.node_recovery = setting


def _auto_resume(house: House, op: Op) -> None:
    """A job fails there: Slurm marks the node for HyperPod, which acts in its own time."""
    if not ((node := _standing(house, op)) and node.instance_id and house.script.agent):
        return
    instance, kind = node.instance_id, "Replace" if op.number % 2 else "Reboot"
    house.slurm.of(node).failing = f"Action:{kind}"

    def act() -> None:
        there = house.cluster.by_id(instance)
        house.slurm.of(node).failing = ""
        if there and there.status in STANDS and house.cluster.status == "InService":
            house.cluster.act(kind.lower(), there, "hyperpod")

    house.later(60 + op.number, act)


def _controller_breaks(house: House, op: Op) -> None:
    controller = next(n for n in house.cluster.nodes if n.group == "controller")
    if controller.instance_id and controller.status is NodeStatus.RUNNING:
        house.bus.health(controller.instance_id, "Unhealthy")


def _agent_silent(house: House, op: Op) -> None:
    """The agent reports no more, and obeys nobody, for a while: what was said last grows old."""
    house.slurm.silent_until = house.now + timedelta(seconds=400 + op.number * 2)


def _patching(house: House, op: Op) -> None:
    if house.cluster.status == "InService":
        house.cluster.status = "SystemUpdating"
        house.later(300 + op.number * 2, lambda: setattr(house.cluster, "status", "InService"))


def _job(house: House, op: Op) -> None:
    if node := _standing(house, op):
        entry = house.slurm.of(node)
        entry.jobs = (1000 + op.number,)
        house.later(60 + op.number, lambda: setattr(entry, "jobs", ()))


# AWS -------------------------------------------------------------------------------------------------------------
def _throttled(house: House, op: Op) -> None:
    for _ in range(1 + op.number % 3):
        house.cluster.fail_next(Throttled("slow down"))


def _lost_answer(house: House, op: Op) -> None:
    for _ in range(1 + op.number % 2):
        house.cluster.lose_next_answer()


def _unreadable(house: House, op: Op) -> None:
    house.cluster.away_until = house.now + timedelta(seconds=20 + op.number * (1 if op.number % 3 else 0.1))


def _events_unreadable(house: House, op: Op) -> None:
    for _ in range(1 + op.number % 4):
        house.cluster.fail_next_events(Throttled("slow down"))


def _stale_list(house: House, op: Op) -> None:
    house.cluster.stale_until = house.now + timedelta(seconds=20 + op.number % 100)


def _empty_list(house: House, op: Op) -> None:
    house.cluster.show_nothing(1 + op.number % 3)


def _store_fails(house: House, op: Op) -> None:
    store = getattr(house, STORES[op.number % len(STORES)])
    for _ in range(1 + op.number % 2):
        store.fail_next(Throttled("slow down") if op.number % 3 else Unavailable("time-out"))


def _omitted(house: House, op: Op) -> None:
    """The next list does not show a node, though it stands there; one that the line is busy with, if there is any."""
    busy = [i.instance_id for i in house.incidents.records.values() if i.state is not IncidentState.CLOSED]
    standing = [instance for instance in busy if house.cluster.by_id(instance)]
    if standing:
        house.cluster.omitted = standing[op.number % len(standing)]
    elif (node := _node(house, op)) and node.instance_id:
        house.cluster.omitted = node.instance_id


def _no_reservation(house: House, op: Op) -> None:
    """New instances of the group miss their reservation from now on."""
    house.cluster.on_demand.add("workers")


def _shortage(house: House, op: Op) -> None:
    house.cluster.short_until = house.now + timedelta(seconds=600 + op.number * 5)


def _twin(house: House, op: Op) -> None:
    house.twin()


def _settle_message(house: House, op: Op) -> None:
    """Somebody who can write to the settle queue names a question that nobody answered."""
    pending = [a.approval_id for a in house.approvals.records.values() if a.status is ApprovalStatus.PENDING]
    house.settle.approval_ids += pending[:1]


# People ----------------------------------------------------------------------------------------------------------
def _pause(house: House, op: Op) -> None:
    house.control.set_pause(Pause(ALICE, "moving racks", house.now))
    house.later(200 + op.number * 3, lambda: house.control.set_pause(None))


def _mode(mode: Mode, house: House, op: Op) -> None:
    def change(policy: Policy) -> Policy:
        return replace(policy, rules={cause: replace(rule, mode=mode) for cause, rule in policy.rules.items()})

    house.change_policy(change)


def _short_ladder(house: House, op: Op) -> None:
    def change(policy: Policy) -> Policy:
        rules = {c: replace(r, ladder=(Rung.REBOOT, Rung.HUMAN)) for c, r in policy.rules.items()}
        return replace(policy, rules=rules)

    house.change_policy(change)


def _protect(house: House, op: Op) -> None:
    if node := _node(house, op):
        name = (node.logical_id, node.instance_id)[op.number % 2] or ""
        house.change_policy(lambda p: replace(p, protected_nodes=(*p.protected_nodes, name)))


def _other_approvers(house: House, op: Op) -> None:
    house.change_policy(lambda p: replace(p, approvers=(BOB,)))


def _no_budget(house: House, op: Op) -> None:
    house.change_policy(lambda p: replace(p, budgets={r: replace(b, per_day=1) for r, b in p.budgets.items()}))


def _slack_away(house: House, op: Op) -> None:
    house.slack_up = False
    house.later(300 + op.number * 5, lambda: setattr(house, "slack_up", True))


def _click(house: House, op: Op) -> None:
    """Anybody presses any button that was ever shown."""
    asked = [n for n in house.outbox.notices[: house._shown] if n.approval]
    if asked:
        user = (ALICE, BOB, MALLORY)[op.number % 3]
        house.press(asked[op.number % len(asked)], ("approve", "deny")[op.number // 3 % 2], user)


def _breaker_trips(house: House, op: Op) -> None:
    """Others take so many nodes away that the limits are reached."""
    for place in range(1 + op.number % 4):
        if (node := _standing(house, replace(op, node=op.node + place))) and node.instance_id:
            house.bus.health(node.instance_id, "Unhealthy", "Replace")


# The line itself -------------------------------------------------------------------------------------------------
def _stop(house: House, op: Op) -> None:
    running = [name for name, e in house.executions.items() if e.status == "RUNNING"]
    if running:
        house.stop(running[op.number % len(running)])


def _losing(house: House, op: Op) -> None:
    house.bus.losing = True
    house.later(300 + op.number, lambda: setattr(house.bus, "losing", False))


KINDS: dict[str, Callable[[House, Op], None]] = {
    "break_soft": partial(_break, "soft"),
    "break_hard": partial(_break, "hard"),
    "break_in_log": _break_in_log,
    "break_for_slurm": _break_for_slurm,
    "false_alarm": _false_alarm,
    "storm": _storm,
    "again": _again,
    "well": _well,
    "old_message": _old_message,
    "replay": _replay,
    "late_bad_news": _late_bad_news,
    "forged": _forged,
    "colleague_reboots": partial(_colleague, "reboot"),
    "colleague_replaces": partial(_colleague, "replace"),
    "colleague_deletes": _colleague_deletes,
    "colleague_adds": _colleague_adds,
    "colleague_drains": _colleague_drains,
    "colleague_undrains": _colleague_undrains,
    "recovery_on": partial(_recovery, "Automatic"),
    "recovery_off": partial(_recovery, "None"),
    "auto_resume": _auto_resume,
    "patching": _patching,
    "job": _job,
    "throttled": _throttled,
    "lost_answer": _lost_answer,
    "unreadable": _unreadable,
    "events_unreadable": _events_unreadable,
    "stale_list": _stale_list,
    "empty_list": _empty_list,
    "store_fails": _store_fails,
    "omitted": _omitted,
    "no_reservation": _no_reservation,
    "controller_breaks": _controller_breaks,
    "agent_silent": _agent_silent,
    "settle_message": _settle_message,
    "shortage": _shortage,
    "twin": _twin,
    "pause": _pause,
    "observe": partial(_mode, Mode.OBSERVE),
    "ask": partial(_mode, Mode.ASK),
    "short_ladder": _short_ladder,
    "protect": _protect,
    "other_approvers": _other_approvers,
    "no_budget": _no_budget,
    "slack_away": _slack_away,
    "click": _click,
    "breaker_trips": _breaker_trips,
    "stop": _stop,
    "losing": _losing,
}
