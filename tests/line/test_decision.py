from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.line.breaker import BreakerState, BreakerStatus
from roundhouse.line.decision import Facts, Guard, Verdict, applied, decide, explain, held_since, recheck
from roundhouse.line.decision.decide import NOT_KNOWN
from roundhouse.line.event import LOST_READY, CauseClass
from roundhouse.line.incident import Attempt, IncidentState, Outcome, Step, admit, begin_step, close, with_event
from roundhouse.line.ladder import History, Rung
from roundhouse.line.policy import BreakerLimits, Budget, Mode
from roundhouse.line.state import ClusterEvent, NodeStatus, Pause, SlurmNode, SlurmSnapshot
from roundhouse.triage.hyperpod import read
from tests.line.build import (
    CLUSTER,
    CONTROLLER,
    LOGIN,
    NOW,
    ago,
    case,
    cluster,
    event,
    facts,
    iid,
    incident,
    node,
    policy,
    slurm,
)

REPLACE_ONLY = (Rung.REPLACE, Rung.HUMAN)
PAUSE = Pause("U0AAA", "moving racks", ago(60))
OPEN = BreakerState(BreakerStatus.OPEN, ago(60), "too many")


def ledger(kind="replace", number=1, age=60.0, state=LedgerState.CONFIRMED, incident_id="inc-other-1", logical=None):
    return LedgerEntry(
        f"{incident_id}/{kind}/{iid(number)}/1",
        CLUSTER,
        kind,
        iid(number),
        incident_id,
        state,
        ago(age),
        ago(age),
        "workers",
        logical or f"n-{number}",
    )


def history(*entries):
    return History.of(entries)


def hyperpod(text, number=1, age=60.0, failure="", logical=None):
    return ClusterEvent(
        f"ev-{age}-{text[:9]}", ago(age), "Info", "Instance", text, "workers", iid(number), logical, failure
    )


def tried(*results):
    rungs = (Rung.REBOOT, Rung.REPLACE, Rung.DELETE_RESTORE)
    return tuple(
        Attempt(rung, iid(1), ago(900 - n), result)
        for n, (rung, result) in enumerate(zip(rungs, results, strict=False))
    )


STARTING = "Instance {} is starting as part of instance replacement in Cluster train-a and IG workers"


@pytest.mark.parametrize(
    ("changes", "verdict", "guard", "words"),
    [
        pytest.param({}, Verdict.ACT, None, "reboot is the next rung", id="act: the gentlest rung"),
        pytest.param({"policy": policy(Mode.ASK)}, Verdict.ASK, None, "reboot", id="ask"),
        pytest.param({"policy": policy(Mode.OBSERVE)}, Verdict.OBSERVE, Guard.OBSERVE, "observe", id="observe"),
        pytest.param(
            {"incident": close(incident(), Outcome.DENIED, NOW, "no")},
            Verdict.NOTHING,
            None,
            "closed",
            id="closed already",
        ),
        # Rule 1 and 2: identity and live state
        pytest.param(
            {"cluster": None}, Verdict.HOLD, Guard.LIVE_STATE, "could not be read", id="live state unreadable"
        ),
        pytest.param(
            {"cluster": cluster(nodes=())}, Verdict.HOLD, Guard.LIVE_STATE, "never all well", id="empty answer"
        ),
        pytest.param(
            {"cluster": cluster(node(1, instance_id=iid(99)))},
            Verdict.CLOSE,
            None,
            iid(99),
            id="replaced under its name",
        ),
        pytest.param(
            {"cluster": cluster(node(1, instance_id=None, status=NodeStatus.PENDING))},
            Verdict.CLOSE,
            None,
            "gone",
            id="no instance behind the logical id",
        ),
        pytest.param(
            {"incident": incident(health="healthy")}, Verdict.CLOSE, None, "good", id="healthy by the newest event"
        ),
        pytest.param(
            {"incident": incident(health="healthy"), "cluster": cluster(node(1, NodeStatus.FAILURE))},
            Verdict.ACT,
            None,
            "reboot",
            id="an event says healthy, live state says failure",
        ),
        pytest.param(
            {"incident": incident(health="healthy", attempts=tried("failed"))},
            Verdict.ACT,
            None,
            "replace",
            id="healthy by event, but it failed its proof",
        ),
        # Rule 4: we are not the only remediator
        pytest.param({"incident": incident(opened_at=ago(599))}, Verdict.WAIT, Guard.GRACE, "1 s more", id="grace"),
        pytest.param({"incident": incident(opened_at=ago(600))}, Verdict.ACT, None, "", id="grace over"),
        *(
            pytest.param(
                {"cluster": cluster(node(1, status))},
                Verdict.WAIT,
                Guard.IN_HAND,
                status.value,
                id=f"HyperPod has it {status}",
            )
            for status in (NodeStatus.PENDING, NodeStatus.SHUTTING_DOWN, NodeStatus.DEEP_HEALTH_CHECK)
        ),
        pytest.param(
            {"cluster": cluster(node(1, NodeStatus.PENDING)), "incident": incident(opened_at=ago(6000))},
            Verdict.HUMAN,
            Guard.IN_HAND,
            "stuck",
            id="pending for ever",
        ),
        pytest.param(
            {"incident": incident(repair_begun=True), "cluster": cluster(node_recovery="Automatic")},
            Verdict.WAIT,
            Guard.IN_HAND,
            "HyperPod says",
            id="announced",
        ),
        pytest.param(
            {"incident": incident(repair_begun=True, opened_at=ago(5500))},
            Verdict.ACT,
            None,
            "reboot",
            id="announced and never begun",
        ),
        pytest.param(
            {"events": [hyperpod(STARTING.format(iid(1)))]}, Verdict.WAIT, Guard.IN_HAND, "begun to replace", id="begun"
        ),
        pytest.param(
            {"events": [hyperpod(STARTING.format(iid(2)), 2)]}, Verdict.ACT, None, "", id="begun on another node"
        ),
        pytest.param(
            {"events": [hyperpod("Instance replacement failed", age=30), hyperpod(STARTING.format(iid(1)))]},
            Verdict.ACT,
            None,
            "",
            id="begun and failed",
        ),
        pytest.param(
            {"events": [hyperpod(STARTING.format(iid(1)), age=601)]},
            Verdict.ACT,
            None,
            "",
            id="begun, and still running",
        ),
        pytest.param(
            {"events": [hyperpod("Reboot in progress")], "incident": incident(attempts=tried("failed"))},
            Verdict.ACT,
            None,
            "replace",
            id="our own reboot, which did not help",
        ),
        pytest.param(
            {"events": [hyperpod(STARTING.format(iid(1)))], "incident": incident(attempts=tried("failed"))},
            Verdict.WAIT,
            Guard.IN_HAND,
            "begun to replace",
            id="HyperPod replaces what our reboot did not mend",
        ),
        pytest.param(
            {"history": history(ledger("reboot", state=LedgerState.CALLED))},
            Verdict.WAIT,
            Guard.IN_HAND,
            "inc-other-1",
            id="another incident of ours is at it",
        ),
        pytest.param(
            {"cluster": cluster(status="SystemUpdating")}, Verdict.HOLD, Guard.PATCHING, "patching", id="patching"
        ),
        pytest.param(
            {"cluster": cluster(node(2, NodeStatus.SYSTEM_UPDATING))},
            Verdict.HOLD,
            Guard.PATCHING,
            "",
            id="a node is patched",
        ),
        pytest.param(
            {"cluster": cluster(status="Creating")}, Verdict.HOLD, Guard.CLUSTER_BUSY, "Creating", id="creating"
        ),
        pytest.param(
            {"cluster": cluster(status="Deleting")}, Verdict.CLOSE, Guard.CLUSTER_BUSY, "deleted", id="deleting"
        ),
        pytest.param(
            {"cluster": cluster(status="Gone", nodes=())},
            Verdict.HOLD,
            Guard.LIVE_STATE,
            "no such cluster",
            id="not known",
        ),
        pytest.param(
            {
                "cluster": cluster(status="Gone", nodes=()),
                "incident": incident(steps=(Step("held", ago(900), None, NOT_KNOWN),)),
            },
            Verdict.CLOSE,
            Guard.CLUSTER_BUSY,
            "gone",
            id="gone",
        ),
        pytest.param(
            {"cluster": cluster(status="Failed")}, Verdict.HUMAN, Guard.CLUSTER_BUSY, "made again", id="failed"
        ),
        # Rule 5: breaker and pause
        pytest.param({"breaker": OPEN}, Verdict.HOLD, Guard.BREAKER, "too many", id="breaker open"),
        pytest.param({"breaker": None}, Verdict.HOLD, Guard.BREAKER, "could not be read", id="breaker unreadable"),
        pytest.param({"breaker": replace(OPEN, since=ago(3600))}, Verdict.ACT, None, "", id="due for a canary"),
        pytest.param({"pause": PAUSE}, Verdict.HOLD, Guard.PAUSED, "moving racks", id="paused"),
        # Rule 6: unknown is not fatal
        pytest.param(
            {"incident": incident(cause=CauseClass.UNKNOWN)},
            Verdict.HUMAN,
            Guard.UNKNOWN_CAUSE,
            "not known",
            id="unknown",
        ),
        pytest.param(
            {"incident": incident(cause=CauseClass.UNKNOWN, opened_at=ago(60))},
            Verdict.WAIT,
            Guard.GRACE,
            "",
            id="unknown is watched first",
        ),
        # Rule 8: evidence, protected, floor
        pytest.param(
            {"incident": incident(trusted=False), "policy": policy(ladder=REPLACE_ONLY)},
            Verdict.ASK,
            Guard.EVIDENCE,
            "people decide",
            id="forgeable evidence destroys nothing",
        ),
        pytest.param(
            {
                "incident": incident(trusted=False),
                "policy": policy(ladder=REPLACE_ONLY),
                "cluster": cluster(node(1, NodeStatus.FAILURE)),
            },
            Verdict.ACT,
            None,
            "HyperPod itself",
            id="corroborated by live state",
        ),
        pytest.param(
            {"incident": incident(trusted=False), "policy": policy(slurm_may_reboot=True)},
            Verdict.ACT,
            None,
            "only Slurm",
            id="a reboot destroys nothing, and the policy lets Slurm's word suffice",
        ),
        pytest.param(
            {"incident": incident(trusted=False)},
            Verdict.ASK,
            Guard.EVIDENCE,
            "people decide",
            id="HyperPod has it Running: people are asked even before a reboot",
        ),
        pytest.param(
            {"policy": policy(protected_groups=("workers",))},
            Verdict.HUMAN,
            Guard.PROTECTED,
            "workers",
            id="protected group",
        ),
        *(
            pytest.param(
                {"policy": policy(protected_nodes=(name,))},
                Verdict.HUMAN,
                Guard.PROTECTED,
                name,
                id=f"protected {name}",
            )
            for name in (iid(1), "n-1", "ip-10-1-2-1")
        ),
        pytest.param(
            {"policy": policy(capacity_floor={"workers": 64})},
            Verdict.HOLD,
            Guard.FLOOR,
            "63 nodes",
            id="below the floor",
        ),
        pytest.param({"policy": policy(capacity_floor={"workers": 63})}, Verdict.ACT, None, "", id="at the floor"),
        pytest.param(
            {"policy": policy(capacity_floor={"workers": 63}), "cluster": cluster(node(1, NodeStatus.FAILURE))},
            Verdict.ACT,
            None,
            "",
            id="a node that serves nobody takes nothing from the floor",
        ),
        # The controller and login nodes
        pytest.param(
            {"incident": incident(instance_id=CONTROLLER.instance_id, logical_id="n-c", group="controller")},
            Verdict.HUMAN,
            Guard.CONTROLLER,
            "controller",
            id="controller",
        ),
        pytest.param(
            {"incident": incident(instance_id=LOGIN.instance_id, logical_id="n-l", group="login")},
            Verdict.HUMAN,
            Guard.LOGIN,
            "login",
            id="login node",
        ),
        # The ladder
        pytest.param({"incident": incident(attempts=tried("failed"))}, Verdict.ACT, None, "replace", id="second rung"),
        pytest.param(
            {"incident": incident(attempts=tried("failed", "failed"))},
            Verdict.HUMAN,
            Guard.LADDER,
            "people",
            id="ladder ends",
        ),
        pytest.param(
            {"incident": incident(attempts=tried("in_hand"))}, Verdict.ACT, None, "reboot", id="in hand is no try"
        ),
        pytest.param(
            {"history": history(ledger("reboot", age=1200)), "incident": incident(last_event_at=ago(900))},
            Verdict.ACT,
            None,
            "did not last",
            id="a reboot that did not last",
        ),
        pytest.param(
            {"history": history(ledger("reboot", age=1200))},
            Verdict.CLOSE,
            None,
            "came after the last bad news",
            id="repaired under another incident since",
        ),
        pytest.param(
            {"history": history(*(ledger("reboot", n, 40000) for n in range(10, 15)))},
            Verdict.HUMAN,
            Guard.BUDGET,
            "nothing harder",
            id="a spent budget is no reason for a harder rung",
        ),
        pytest.param(
            {"history": history(*(ledger("reboot", n, 40000, LedgerState.FAILED) for n in range(10, 15)))},
            Verdict.ACT,
            None,
            "reboot",
            id="failed calls changed nothing",
        ),
        pytest.param(
            {"policy": policy(ladder=REPLACE_ONLY), "history": history(ledger("replace", 50, 1800, logical="n-1"))},
            Verdict.WAIT,
            Guard.COOLDOWN,
            "1800 s more",
            id="replaced a short while ago under the same logical id",
        ),
        pytest.param(
            {"policy": policy(ladder=(Rung.RESTART_JOB, Rung.RESET_GPU, Rung.REPLACE))},
            Verdict.ACT,
            None,
            "reset the GPU needs a controller agent",
            id="rungs that nobody can carry out",
        ),
        # Slurm
        pytest.param(
            {"cluster": cluster(slurm=slurm("ip-10-1-2-1", "IDLE+DRAIN", "bad dimm, ask bob"))},
            Verdict.ASK,
            Guard.FOREIGN_DRAIN,
            "bad dimm",
            id="drained by somebody else",
        ),
        pytest.param(
            {"cluster": cluster(slurm=slurm("ip-10-1-2-1", "IDLE+DRAIN", "roundhouse: inc-1"))},
            Verdict.ACT,
            None,
            "",
            id="drained by us",
        ),
        pytest.param(
            {
                "incident": incident(cause=CauseClass.UNREACHABLE, trusted=False),
                "cluster": cluster(slurm=slurm("ip-10-1-2-1", "IDLE")),
            },
            Verdict.CLOSE,
            None,
            "Slurm has the node back",
            id="Slurm has it back",
        ),
        pytest.param(
            {
                "incident": incident(cause=CauseClass.UNREACHABLE, trusted=False),
                "cluster": cluster(slurm=slurm("ip-10-1-2-1", "DOWN*", taken_at=NOW)),
            },
            Verdict.ASK,
            Guard.EVIDENCE,
            "",
            id="Slurm still misses it",
        ),
    ],
)
def test_decisions(changes, verdict, guard, words):
    made = decide(facts(**changes))
    assert (made.verdict, made.guard) == (verdict, guard)
    assert words in made.reason
    assert made.reason
    assert made.ends is (verdict in {Verdict.OBSERVE, Verdict.NOTHING, Verdict.HUMAN, Verdict.CLOSE})
    assert (made.wait_s > 0) is (verdict in {Verdict.WAIT, Verdict.HOLD})
    if verdict in {Verdict.ACT, Verdict.ASK}:
        assert made.instance_id == iid(1)


def test_the_outcome_of_each_ending():
    endings = {
        Outcome.RECOVERED: facts(incident=incident(health="healthy")),
        Outcome.SUPERSEDED: facts(cluster=cluster(node(1, instance_id=iid(99)))),
        Outcome.OBSERVED: facts(policy=policy(Mode.OBSERVE)),
        Outcome.ESCALATED: facts(incident=incident(cause=CauseClass.UNKNOWN)),
        Outcome.IGNORED: facts(cluster=cluster(status="Deleting")),
    }
    assert {outcome: decide(f).outcome for outcome, f in endings.items()} == {o: o for o in endings}


def test_what_a_guard_kept_from_happening_is_told():
    assert decide(facts(policy=policy(Mode.OBSERVE))).unguarded == f"act reboot {iid(1)}"
    assert decide(facts(breaker=OPEN)).unguarded == f"act reboot {iid(1)}"
    assert decide(facts(policy=policy(Mode.ASK), pause=PAUSE)).unguarded == f"ask reboot {iid(1)}"


def test_the_controllers_loss_comes_with_the_steps_to_take_even_while_observing():
    lost = incident(instance_id=CONTROLLER.instance_id, logical_id="n-c", group="controller")
    made = decide(facts(incident=lost, policy=policy(Mode.OBSERVE), pause=PAUSE, breaker=OPEN))
    assert (made.verdict, made.guard) == (Verdict.HUMAN, Guard.CONTROLLER)
    assert len(made.advice) >= 4


@pytest.mark.parametrize(
    ("changes", "guard", "verdict", "outcome"),
    [
        ({"breaker": OPEN}, Guard.BREAKER, Verdict.CLOSE, Outcome.EXPIRED),
        ({"pause": PAUSE}, Guard.PAUSED, Verdict.CLOSE, Outcome.EXPIRED),
        ({"cluster": cluster(status="Updating")}, Guard.CLUSTER_BUSY, Verdict.CLOSE, Outcome.EXPIRED),
        ({"cluster": None}, Guard.LIVE_STATE, Verdict.HUMAN, Outcome.ESCALATED),
    ],
)
def test_a_hold_expires(changes, guard, verdict, outcome):
    first = decide(facts(**changes))
    assert (first.verdict, first.guard) == (Verdict.HOLD, guard)
    held = applied(incident(), first, ago(7199))
    assert (held.state, held_since(held)) == (IncidentState.HELD, ago(7199))
    assert decide(facts(incident=held, **changes)).verdict is Verdict.HOLD
    expired = decide(facts(incident=held, now=NOW + timedelta(seconds=1), **changes))
    assert (expired.verdict, expired.guard, expired.outcome) == (verdict, guard, outcome)


def test_the_hold_ends_when_the_guard_opens():
    held = applied(incident(), decide(facts(breaker=OPEN)), ago(60))
    free = applied(held, decide(facts(incident=held)), NOW)
    assert (free.state, held_since(free)) == (IncidentState.ACTING, None)
    assert applied(incident(), decide(facts(policy=policy(Mode.ASK))), NOW).state is IncidentState.APPROVAL
    waiting = decide(facts(incident=replace(held, opened_at=ago(5))))
    assert applied(held, waiting, NOW).state is IncidentState.OPEN


# Case 411 --------------------------------------------------------------------------------------------------------
def verdict_411(name):
    """Intake and decision of one failed launch half an hour ago, with one node of the group missing."""
    one = read(case(411, f"{name}.json"), NOW)
    if one.needs_lookup:
        return "DESCRIBE_FIRST"
    missing = cluster(node(1, NodeStatus.FAILURE, logical_id=one.logical_id), size=2)
    opened = admit(replace(one, source_time=ago(1801)), [], missing, policy(), ago(1800)).incident
    made = decide(facts(incident=opened, cluster=missing, policy=policy(ladder=REPLACE_ONLY)))
    if made.verdict is Verdict.HUMAN and any("AZ" in line for line in made.advice):
        return "NO_RETRY_ALERT"
    return "RETRY_LIMITED" if made.rung is Rung.REPLACE else made.verdict


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_capacity_against_efa(name):
    assert verdict_411(name) == case(411, "expected.json")[name]


def launch(**changes):
    made = {
        "instance_id": "node:n-1",
        "cause": CauseClass.PROVISIONING,
        "code": "efa_check_failed",
        "opened_at": ago(1800),
    }
    return incident(**(made | changes))


BROKEN = cluster(node(1, NodeStatus.FAILURE))


def test_a_failed_launch_is_retried_twice_within_ninety_minutes_then_shown_to_people():
    rules = policy(ladder=REPLACE_ONLY)
    once = (Attempt(Rung.REPLACE, iid(1), ago(1500), "failed"),)
    for attempts, verdict in (((), Verdict.ACT), (once, Verdict.ACT), (once * 2, Verdict.HUMAN)):
        assert decide(facts(incident=launch(attempts=attempts), cluster=BROKEN, policy=rules)).verdict is verdict
    late = decide(facts(incident=launch(opened_at=ago(5400)), cluster=BROKEN, policy=rules))
    assert (late.verdict, "90 min" in late.reason) == (Verdict.HUMAN, True)


def test_a_node_that_is_not_listed_between_two_attempts_is_waited_for():
    absent = cluster()
    absent = replace(absent, nodes=tuple(n for n in absent.nodes if n.logical_id != "n-1"))
    made = decide(facts(incident=launch(), cluster=absent))
    assert (made.verdict, made.guard) == (Verdict.WAIT, Guard.IN_HAND)
    assert (
        decide(facts(incident=launch(cause=CauseClass.LIFECYCLE, opened_at=ago(5400)), cluster=absent)).verdict
        is Verdict.HUMAN
    )
    assert decide(facts(incident=launch(), cluster=cluster())).outcome is Outcome.RECOVERED


def test_no_running_node_is_replaced_while_there_is_no_capacity():
    told = hyperpod("Failed to provision", 7, failure="We currently do not have sufficient capacity to launch")
    rules = policy(ladder=REPLACE_ONLY)
    made = decide(facts(policy=rules, events=[told]))
    assert (made.verdict, made.guard) == (Verdict.HOLD, Guard.CAPACITY)
    assert decide(facts(policy=rules, events=[replace(told, at=ago(3700))])).verdict is Verdict.ACT
    assert decide(facts(policy=rules, events=[replace(told, group="other")])).verdict is Verdict.ACT
    assert decide(facts(events=[told])).rung is Rung.REBOOT


def test_a_shortage_ends_when_the_group_is_full():
    short = incident(instance_id="group:workers", cause=CauseClass.CAPACITY, code="insufficient_capacity")
    assert decide(facts(incident=short)).outcome is Outcome.RECOVERED
    fresh = replace(short, opened_at=ago(10))
    assert decide(facts(incident=fresh, cluster=cluster(node(1, NodeStatus.PENDING)))).guard is Guard.GRACE


@pytest.mark.parametrize("code", ["slurmdbd_unhealthy", "cluster_operation_failed"])
def test_running_nodes_do_not_mend_what_is_no_matter_of_nodes(code):
    about = incident(instance_id="cluster", cause=CauseClass.CLUSTER, code=code, group=None, logical_id=None)
    assert decide(facts(incident=about)).guard is Guard.CLUSTER
    assert decide(facts(incident=replace(about, health="healthy"))).outcome is Outcome.RECOVERED


def test_lost_readiness_is_nothing_while_scaling_and_people_see_which_nodes_otherwise():
    lost = incident(instance_id="cluster", cause=CauseClass.CLUSTER, code=LOST_READY, group=None, logical_id=None)
    scaling = cluster()
    scaling = replace(scaling, groups={**scaling.groups, "workers": replace(scaling.groups["workers"], current=63)})
    assert decide(facts(incident=lost, cluster=scaling)).outcome is Outcome.IGNORED
    made = decide(facts(incident=lost, cluster=cluster(node(3, NodeStatus.FAILURE))))
    assert (made.verdict, made.guard) == (Verdict.HUMAN, Guard.CLUSTER)
    assert iid(3) in made.reason
    assert decide(facts(incident=lost)).outcome is Outcome.RECOVERED


# Case 708 --------------------------------------------------------------------------------------------------------
def live_708(rows):
    """The case's listing as a cluster: its short ids made whole, boot times as launch times."""
    nodes, slurm_nodes = [], {}
    for row in rows:
        role = row.get("role", "compute")
        group = {"controller": "controller", "compute": "workers"}[role]
        instance = row["instance"] and f"i-{row['instance'][2:]:0>17}"
        nodes.append(node(1, instance_id=instance, logical_id=f"n-{row['node']}", group=group, hostname=row["node"]))
        jobs = (row["job"],) if "job" in row else ()
        slurm_nodes[row["node"]] = SlurmNode(row["node"], row["state"], "roundhouse: inc", jobs, instance)
    full = cluster(size=1)
    return replace(full, nodes=tuple(nodes), slurm=SlurmSnapshot(2, NOW, slurm_nodes))


@pytest.mark.parametrize("name", list(case(708, "expected.json")))
def test_wrong_or_stale_replacement(name):
    listing, reread = live_708(case(708, "listing.json")), live_708(case(708, "reread.json"))
    seen = listing.by_hostname(name)
    about = incident(
        instance_id=seen.instance_id or f"name:{name}",
        logical_id=seen.logical_id if seen.instance_id else None,
        slurm_name=name,
        group=seen.group,
        cause=CauseClass.UNREACHABLE,
        trusted=seen.instance_id is not None,
        opened_at=ago(700),
        last_event_at=ago(10),
    )
    rules = policy(ladder=REPLACE_ONLY)
    if name == "ip-10-1-2-4":
        about = replace(about, instance_id="node:n-ip-10-1-2-4", logical_id="n-ip-10-1-2-4")
    first = decide(facts(incident=about, cluster=listing, policy=rules, now=NOW))
    second = recheck(
        replace(first, verdict=Verdict.ACT, rung=Rung.REPLACE), facts(incident=about, cluster=reread, policy=rules)
    )
    outcome = {
        (Verdict.CLOSE, Outcome.SUPERSEDED): "SKIP_REPLACED",
        (Verdict.CLOSE, Outcome.IGNORED): "SKIP_POWERED_OFF",
        (Verdict.WAIT, None): "WAIT_JOB",
        (Verdict.HUMAN, Outcome.ESCALATED): "ASK_HUMAN",
    }[second.verdict, second.outcome]
    assert outcome == case(708, "expected.json")[name]
    assert second.guard in {None, Guard.POWERED_OFF, Guard.JOB, Guard.CONTROLLER}


# Right before the call -------------------------------------------------------------------------------------------
ASKED = decide(facts(policy=policy(Mode.ASK, REPLACE_ONLY)))
ACTING = decide(facts(policy=policy(Mode.ACT, REPLACE_ONLY)))
CORDONED = incident(drained_by_us=True, steps=(Step("drain", ago(300), ago(300)),), opened_at=ago(1800))


def drained(jobs=(), state="MIXED+DRAIN"):
    return cluster(slurm=slurm("ip-10-1-2-1", state, "roundhouse: inc", jobs))


@pytest.mark.parametrize(
    ("decision", "changes", "verdict", "guard"),
    [
        pytest.param(ASKED, {}, Verdict.ACT, None, id="approved"),
        pytest.param(ACTING, {}, Verdict.ACT, None, id="automatic"),
        pytest.param(ASKED, {"cluster": None}, Verdict.HOLD, Guard.LIVE_STATE, id="unreadable"),
        pytest.param(
            ASKED, {"cluster": cluster(node(1, instance_id=iid(9)))}, Verdict.CLOSE, None, id="replaced meanwhile"
        ),
        pytest.param(
            ASKED, {"incident": replace(CORDONED, health="healthy")}, Verdict.CLOSE, None, id="recovered meanwhile"
        ),
        pytest.param(
            ASKED,
            {"incident": replace(CORDONED, current_instance_id=iid(2))},
            Verdict.CLOSE,
            None,
            id="another instance is the target now",
        ),
        pytest.param(
            ASKED,
            {"cluster": replace(drained(), status="SystemUpdating")},
            Verdict.HOLD,
            Guard.PATCHING,
            id="patching began",
        ),
        pytest.param(ASKED, {"pause": PAUSE}, Verdict.HOLD, Guard.PAUSED, id="paused meanwhile"),
        pytest.param(ASKED, {"breaker": OPEN}, Verdict.HOLD, Guard.BREAKER, id="breaker opened meanwhile"),
        pytest.param(
            ASKED,
            {"history": history(*(ledger("replace", n, 40000) for n in range(10, 15)))},
            Verdict.HUMAN,
            Guard.BUDGET,
            id="budget used up meanwhile",
        ),
        pytest.param(
            ASKED,
            {"policy": policy(Mode.OBSERVE, REPLACE_ONLY)},
            Verdict.OBSERVE,
            Guard.OBSERVE,
            id="policy says observe now",
        ),
        pytest.param(
            ASKED, {"policy": policy(Mode.ASK, (Rung.REBOOT,))}, Verdict.HUMAN, Guard.LADDER, id="rung forbidden now"
        ),
        pytest.param(ACTING, {"policy": policy(Mode.ASK, REPLACE_ONLY)}, Verdict.ASK, None, id="policy says ask now"),
        pytest.param(
            ACTING, {"incident": replace(CORDONED, trusted=False)}, Verdict.ASK, Guard.EVIDENCE, id="evidence"
        ),
        pytest.param(
            ASKED, {"incident": replace(CORDONED, trusted=False)}, Verdict.ACT, None, id="people saw the evidence"
        ),
        pytest.param(ACTING, {"cluster": drained((42,))}, Verdict.WAIT, Guard.JOB, id="job runs"),
        pytest.param(ASKED, {"cluster": drained((42,))}, Verdict.WAIT, Guard.JOB, id="job runs, approved"),
        pytest.param(
            ACTING,
            {"cluster": drained((42,)), "incident": replace(CORDONED, steps=(Step("drain", ago(1800), ago(1800)),))},
            Verdict.ASK,
            Guard.JOB,
            id="job outlives the deadline",
        ),
        pytest.param(
            ASKED,
            {"cluster": drained((42,)), "incident": replace(CORDONED, steps=(Step("drain", ago(1800), ago(1800)),))},
            Verdict.ACT,
            None,
            id="job outlives the deadline, approved",
        ),
        pytest.param(
            ACTING,
            {"cluster": cluster(slurm=slurm("ip-10-1-2-1", "DOWN*", "", (42,)))},
            Verdict.ACT,
            None,
            id="a dead node's job is dead",
        ),
        pytest.param(
            ACTING, {"cluster": cluster()}, Verdict.WAIT, Guard.JOB, id="Slurm unknown: jobs get their deadline"
        ),
        pytest.param(ASKED, {"cluster": cluster()}, Verdict.ACT, None, id="Slurm unknown, approved"),
    ],
)
def test_recheck(decision, changes, verdict, guard):
    standard = {
        "incident": CORDONED,
        "cluster": drained(),
        "policy": policy(Mode.ASK if decision is ASKED else Mode.ACT, REPLACE_ONLY),
    }
    made = recheck(decision, facts(**(standard | changes)))
    assert (made.verdict, made.guard) == (verdict, guard)
    if made.verdict is Verdict.ACT:
        assert (made.rung, made.instance_id) == (decision.rung, decision.instance_id)


# Whatever the facts ----------------------------------------------------------------------------------------------
@st.composite
def any_facts(draw) -> Facts:
    number = draw(st.integers(1, 4))
    special = node(
        number, draw(st.sampled_from(NodeStatus)), instance_id=draw(st.sampled_from([iid(number), iid(77), None]))
    )
    group_of = draw(st.sampled_from(["workers", "workers", "workers", "controller", "login"]))
    special = replace(special, group=group_of)
    snapshot = draw(
        st.sampled_from(
            [
                None,
                SlurmSnapshot(1, NOW, {}),
                slurm(f"ip-10-1-2-{number}", "MIXED+DRAIN", "bob", (7,)),
                slurm("x", "IDLE"),
            ]
        )
    )
    live = cluster(
        special, size=6, slurm=snapshot, status=draw(st.sampled_from(["InService", "InService", "Updating", "Odd"]))
    )
    rungs = st.lists(st.sampled_from([*Rung]), max_size=5).map(tuple)
    about = incident(
        number,
        cause=draw(st.sampled_from(CauseClass)),
        trusted=draw(st.booleans()),
        health=draw(st.sampled_from(["healthy", "unhealthy"])),
        opened_at=ago(draw(st.integers(0, 9000))),
        repair_begun=draw(st.booleans()),
        attempts=tried(*draw(st.lists(st.sampled_from(["failed", "called", "in_hand"]), max_size=3))),
        group=group_of,
    )
    return facts(
        incident=about,
        cluster=draw(st.sampled_from([live, live, live, None, replace(live, nodes=())])),
        breaker=draw(st.sampled_from([BreakerState(), BreakerState(), OPEN, None])),
        pause=draw(st.sampled_from([None, None, PAUSE])),
        policy=policy(
            draw(st.sampled_from(Mode)),
            draw(rungs),
            protected_nodes=draw(st.sampled_from([(), (), (f"n-{number}",)])),
            protected_groups=draw(st.sampled_from([(), (), ("workers",)])),
            capacity_floor=draw(st.sampled_from([{}, {"workers": 6}])),
            breaker=BreakerLimits(short_percent=100),
            budgets={Rung.REBOOT: Budget(2, 3600)},
        ),
        history=history(
            *(
                ledger(draw(st.sampled_from(["reboot", "replace"])), n, draw(st.integers(1, 90000)))
                for n in range(draw(st.integers(0, 4)))
            )
        ),
    )


def why_no_destruction(f: Facts) -> list[str]:
    """Reasons, found independently of the code under test, for which nothing destructive may be done automatically."""
    if f.cluster is None or not f.cluster.nodes:
        return ["unknown"]
    there = f.cluster.by_instance(f.incident.instance_id)
    reasons = []
    if there is None:
        return ["gone"]
    if not (f.incident.trusted or there.status is NodeStatus.FAILURE):
        reasons.append("untrusted")
    if there.group in {"controller", "login"}:
        reasons.append("role")
    if there.group in f.policy.protected_groups or there.logical_id in f.policy.protected_nodes:
        reasons.append("protected")
    if f.pause or f.breaker is None or f.breaker is OPEN:
        reasons.append("stopped")
    if f.cluster.patching(there.group) or f.cluster.controller_away or f.cluster.status != "InService":
        reasons.append("busy")
    if f.incident.cause in {CauseClass.UNKNOWN, CauseClass.CAPACITY, CauseClass.CLUSTER}:
        reasons.append("cause")
    if there.status not in {NodeStatus.RUNNING, NodeStatus.FAILURE, NodeStatus.UNKNOWN, NodeStatus.NOT_FOUND}:
        reasons.append("in hand")
    if f.policy.rule(f.incident.cause).mode is not Mode.ACT:
        reasons.append("mode")
    running = f.cluster.running(there.group) - (there.status is NodeStatus.RUNNING)
    if running < f.policy.capacity_floor.get(there.group, 0):
        reasons.append("floor")
    return reasons


@settings(max_examples=600, deadline=None)
@given(any_facts())
def test_nothing_destructive_is_ever_done_against_a_rule(f):
    made = decide(f)
    assert made.reason
    if made.verdict is Verdict.ACT:
        reasons = why_no_destruction(f)
        assert reasons in ([], ["untrusted"]) if not made.rung.destructive else not reasons
        assert made.instance_id == f.incident.instance_id
        assert made.rung.changes_hyperpod
    if made.verdict is Verdict.ASK:
        assert not set(why_no_destruction(f)) & {
            "unknown",
            "gone",
            "role",
            "protected",
            "stopped",
            "busy",
            "cause",
            "in hand",
        }
    assert decide(f) == made


@settings(max_examples=400, deadline=None)
@given(any_facts(), st.sampled_from([ASKED, ACTING]), st.integers(1, 4))
def test_recheck_never_exceeds_what_was_decided(f, decision, number):
    decision = replace(decision, instance_id=iid(number))
    made = recheck(decision, f)
    if made.verdict in {Verdict.ACT, Verdict.ASK}:
        assert (made.rung, made.instance_id) == (decision.rung, decision.instance_id)
    if made.verdict is Verdict.ACT:
        forbidden = set(why_no_destruction(f)) - ({"untrusted", "mode"} if decision.verdict is Verdict.ASK else set())
        assert not forbidden


def test_explain_tells_evidence_attempts_steps_and_the_guard():
    grown = with_event(incident(attempts=tried("failed"), current_instance_id=iid(5)), event())
    lines = explain(begin_step(grown, "proof", NOW, "waiting"), decide(facts(breaker=OPEN)))
    text = "\n".join(lines)
    for word in (
        "NvidiaErrorTerminate",
        "HyperPod itself reports it",
        "reboot",
        "proof (running)",
        "breaker",
        iid(5),
        "without it",
    ):
        assert word in text
    assert "none yet" in "\n".join(explain(incident()))
    advice = explain(
        incident(), decide(facts(incident=incident(instance_id=CONTROLLER.instance_id, group="controller")))
    )
    assert any("Support case" in line for line in advice)
