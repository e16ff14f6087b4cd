"""Looks and guards about others, one by one: HyperPod, Slurm, patching, people, lists that lag, lost controllers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest

from roundhouse.contracts.commands import REASON_PREFIX
from roundhouse.line import drains, remediators
from roundhouse.line.decision import Guard, Verdict, applied, decide, recheck
from roundhouse.line.event import CauseClass, Health, Source
from roundhouse.line.incident import (
    RECOVERY,
    Incident,
    IncidentState,
    IntakeVerdict,
    Other,
    Outcome,
    Step,
    admit,
    end_step,
    opened,
    with_event,
    with_recovery,
)
from roundhouse.line.incident.told import overtaken, speaks_against
from roundhouse.line.policy import Mode
from roundhouse.line.slurm import meant_for_hyperpod
from roundhouse.line.state import Cluster, ClusterEvent, NodeStatus, SlurmNode, SlurmSnapshot
from roundhouse.line.theirs import Phase, is_termination, patch_phase, repair_phase
from tests.line.build import CONTROLLER, LOGIN, NOW, ago, cluster, event, facts, iid, incident, node, policy, slurm

NAME = "ip-10-1-2-1"
KIM = Other("trail-1", ago(120), "kim (Admin)", "BatchRebootClusterNodes", "reboot")


def switched_on(seconds: float) -> Incident:
    """HyperPod's own repair was switched on so long ago, in the middle of the incident."""
    step = Step(RECOVERY, ago(seconds), ago(seconds), "Automatic")
    return incident(node_recovery="Automatic", steps=(step,))


def lost_controller(status: NodeStatus = NodeStatus.FAILURE) -> Cluster:
    return cluster(replace(CONTROLLER, status=status))


def without(*instances: str) -> Cluster:
    live = cluster()
    return replace(live, nodes=tuple(n for n in live.nodes if n.instance_id not in instances))


@pytest.mark.parametrize(
    ("changes", "verdict", "guard", "words"),
    [
        # HyperPod's own repair
        pytest.param(
            {"incident": incident(opened_at=ago(60)), "cluster": cluster(node_recovery="Automatic")},
            Verdict.WAIT,
            Guard.GRACE,
            "HyperPod's own repair and for late news",
            id="grace while its own repair may come",
        ),
        pytest.param(
            {"incident": incident(opened_at=ago(60))},
            Verdict.WAIT,
            Guard.GRACE,
            "NodeRecovery None",
            id="grace for late news alone",
        ),
        pytest.param({"incident": incident(repair_begun=True)}, Verdict.ACT, None, "", id="announced, cannot come"),
        pytest.param(
            {"incident": incident(node_recovery="None"), "cluster": cluster(node_recovery="Automatic")},
            Verdict.WAIT,
            Guard.GRACE,
            "switched on meanwhile: 600 s",
            id="switched on just now",
        ),
        pytest.param(
            {
                "incident": incident(
                    node_recovery="Automatic", steps=(Step(RECOVERY, ago(500), ago(500), "Automatic"),)
                ),
                "cluster": cluster(node_recovery="Automatic"),
            },
            Verdict.WAIT,
            Guard.GRACE,
            "100 s",
            id="switched on a while ago",
        ),
        pytest.param(
            {
                "incident": incident(
                    node_recovery="Automatic", steps=(Step(RECOVERY, ago(601), ago(601), "Automatic"),)
                ),
                "cluster": cluster(node_recovery="Automatic"),
            },
            Verdict.ACT,
            None,
            "",
            id="switched on, and its time is over",
        ),
        pytest.param(
            {"incident": incident(node_recovery="Automatic")}, Verdict.ACT, None, "", id="switched off: counts at once"
        ),
        # Slurm's request
        pytest.param(
            {"cluster": cluster(slurm=slurm(NAME, "FAIL", "Action:Replace"))},
            Verdict.WAIT,
            Guard.AUTO_RESUME,
            "HyperPod will replace it",
            id="Slurm asks HyperPod",
        ),
        pytest.param(
            {"cluster": cluster(slurm=slurm(NAME, "FAILING", "Action:Reboot [root@2026-06-09T11:00:00]", (7,)))},
            Verdict.WAIT,
            Guard.IN_HAND,
            "job 7",
            id="Slurm asks HyperPod, jobs still run",
        ),
        pytest.param(
            {
                "cluster": cluster(slurm=slurm(NAME, "FAIL", "Action:Replace")),
                "incident": incident(steps=(Step("auto_resume", ago(5400)),)),
            },
            Verdict.HUMAN,
            Guard.AUTO_RESUME,
            "has not acted",
            id="Slurm asked in vain",
        ),
        pytest.param(
            {
                "cluster": cluster(
                    slurm=SlurmSnapshot(1, NOW, {NAME: SlurmNode(NAME, "FAIL", "Action:Replace", (), iid(99))})
                )
            },
            Verdict.ACT,
            None,
            "",
            id="Slurm's word on another instance",
        ),
        pytest.param(
            {"cluster": cluster(slurm=slurm(NAME, "FAIL", "Action: Replace"))},
            Verdict.HUMAN,
            Guard.AUTO_RESUME,
            "Action:Replace",
            id="a slip in the reason",
        ),
        pytest.param(
            {"cluster": cluster(slurm=slurm(NAME, "FAIL", "fan broken, ticket 42"))},
            Verdict.ASK,
            Guard.FOREIGN_DRAIN,
            "ticket 42",
            id="somebody else failed it",
        ),
        # Patching
        pytest.param(
            {"cluster": cluster(node(1, NodeStatus.SYSTEM_UPDATING)), "incident": incident(opened_at=ago(9000))},
            Verdict.HOLD,
            Guard.PATCHING,
            "SystemUpdating",
            id="the node itself is patched: not stuck",
        ),
        pytest.param(
            {"cluster": cluster(replace(LOGIN, status=NodeStatus.SYSTEM_UPDATING))},
            Verdict.ACT,
            None,
            "",
            id="a node of another group is patched",
        ),
        pytest.param(
            {
                "cluster": cluster(status="SystemUpdating"),
                "incident": incident(steps=(Step("patching", ago(21600)),)),
            },
            Verdict.HUMAN,
            Guard.PATCHING,
            "stuck",
            id="patching for hours",
        ),
        pytest.param(
            {"cluster": cluster(node(1, updated_at=ago(700)))},
            Verdict.ASK,
            Guard.MENDED,
            "patched at",
            id="an old fault on a patched node is asked about",
        ),
        pytest.param(
            {"cluster": cluster(node(1, updated_at=ago(60)))},
            Verdict.WAIT,
            Guard.GRACE,
            "540 s",
            id="just patched: late news first",
        ),
        pytest.param(
            {"cluster": cluster(node(1, updated_at=ago(700))), "incident": incident(last_event_at=ago(650))},
            Verdict.ACT,
            None,
            "",
            id="bad news after the patching",
        ),
        pytest.param(
            {"cluster": cluster(node(1, NodeStatus.FAILURE, updated_at=ago(700)))},
            Verdict.ACT,
            None,
            "",
            id="patched, and HyperPod has it in Failure",
        ),
        # People
        pytest.param(
            {"incident": incident(others=(KIM,))}, Verdict.WAIT, Guard.IN_HAND, "kim", id="a call that may not show yet"
        ),
        pytest.param(
            {"incident": incident(others=(replace(KIM, at=ago(700)),))},
            Verdict.ASK,
            Guard.MENDED,
            "kim",
            id="rebooted by a person since the last bad news",
        ),
        pytest.param(
            {"incident": incident(drained_by_us=True, undrained_at=ago(300)), "policy": policy(approvers=("U0AAA",))},
            Verdict.ASK,
            Guard.UNDRAINED,
            "taken back by hand",
            id="undrained by hand",
        ),
        pytest.param(
            {"incident": incident(drained_by_us=True, undrained_at=ago(300))},
            Verdict.HUMAN,
            Guard.UNDRAINED,
            "nobody may approve",
            id="undrained by hand, nobody may approve",
        ),
        pytest.param(
            {"incident": incident(withdrawn=5), "policy": policy(Mode.ASK)},
            Verdict.HUMAN,
            Guard.ASKED_ENOUGH,
            "5 times",
            id="asked enough",
        ),
        # Lists that lag
        pytest.param(
            {"cluster": without(iid(1))}, Verdict.WAIT, Guard.MISSING, "looked at again", id="not listed once"
        ),
        pytest.param(
            {"cluster": without(iid(1)), "incident": incident(steps=(Step("missing", ago(60)),))},
            Verdict.CLOSE,
            None,
            "lists it no more",
            id="not listed twice",
        ),
        pytest.param(
            {"cluster": without(iid(1)), "incident": incident(steps=(Step("missing", ago(59)),))},
            Verdict.WAIT,
            Guard.MISSING,
            "",
            id="looked again too soon",
        ),
        pytest.param(
            {
                "cluster": without(iid(1)),
                "events": [
                    ClusterEvent("e", ago(60), "Info", "Instance", "Instance is being terminated", "workers", iid(1))
                ],
            },
            Verdict.CLOSE,
            None,
            "lists it no more",
            id="not listed, and its end was told",
        ),
        pytest.param(
            {"cluster": without(iid(1)), "incident": incident(others=(replace(KIM, kind="delete"),))},
            Verdict.CLOSE,
            None,
            "kim",
            id="not listed, and a person deleted it",
        ),
        # The controller
        pytest.param(
            {"cluster": lost_controller()}, Verdict.HOLD, Guard.CONTROLLER_AWAY, "Failure", id="controller lost"
        ),
        pytest.param(
            {"cluster": without(str(CONTROLLER.instance_id))},
            Verdict.HOLD,
            Guard.CONTROLLER_AWAY,
            "not listed",
            id="controller not listed",
        ),
        pytest.param(
            {
                "cluster": replace(lost_controller(), slurm=slurm(NAME, "IDLE")),
                "incident": incident(cause=CauseClass.UNREACHABLE, trusted=False, last_event_at=ago(60)),
            },
            Verdict.HOLD,
            Guard.CONTROLLER_AWAY,
            "",
            id="its last word recovers nobody",
        ),
    ],
)
def test_decisions_about_others(changes, verdict, guard, words):
    made = decide(facts(**changes))
    assert (made.verdict, made.guard) == (verdict, guard), made
    assert words in made.reason
    if verdict is not Verdict.ACT:
        before = decide(facts())
        again = recheck(before, facts(**changes))
        assert again.verdict is not Verdict.ACT or made.guard in {Guard.GRACE, Guard.ASKED_ENOUGH}, again


def test_a_switch_of_node_recovery_is_a_step_once():
    first = with_recovery(incident(), "None", ago(60))
    assert (first.node_recovery, first.steps) == ("None", ())
    second = with_recovery(with_recovery(first, "Automatic", NOW), "Automatic", NOW + timedelta(seconds=60))
    assert [(s.name, s.detail, s.started_at) for s in second.steps] == [(RECOVERY, "Automatic", NOW)]


def test_what_is_waited_for_is_a_step_that_ends_when_it_is_over():
    held = applied(incident(), decide(facts(cluster=cluster(status="SystemUpdating"))), ago(60))
    assert [(s.name, s.ended_at) for s in held.steps] == [("patching", None)]
    free = applied(held, decide(facts(incident=held)), NOW)
    assert [(s.name, s.ended_at) for s in free.steps] == [("patching", NOW)]
    assert free.state is not IncidentState.HELD


def test_an_answer_that_others_have_overtaken_is_worth_nothing():
    asked = incident(state=IncidentState.APPROVAL)
    busy = decide(facts(cluster=cluster(node(1, NodeStatus.PENDING))))
    assert applied(asked, busy, NOW).withdrawn == 1
    assert applied(incident(), busy, NOW).withdrawn == 0


@pytest.mark.parametrize("approved_at", [400, 200])
def test_an_approval_counts_only_from_after_the_drain_was_taken_back(approved_at):
    answered = end_step(incident(), "approval", ago(approved_at))
    undrained = replace(answered, drained_by_us=True, undrained_at=ago(300))
    live = facts(incident=undrained, policy=policy(Mode.ASK, approvers=("U0AAA",)))
    asked = decide(facts(policy=policy(Mode.ASK, approvers=("U0AAA",))))
    assert recheck(asked, live).verdict is (Verdict.ACT if approved_at < 300 else Verdict.ASK)


# Drains that are taken back ----------------------------------------------------------------------------------------
def snap(state: str, reason: str = "", at: float = 60, instance: str | None = None) -> SlurmSnapshot:
    return SlurmSnapshot(1, ago(at), {NAME: SlurmNode(NAME, state, reason, (), instance)})


def test_a_drain_is_believed_to_be_taken_back_only_after_it_was_seen():
    ours = incident(drained_by_us=True)
    reason = f"{REASON_PREFIX} {ours.incident_id} code [root@2026-06-09T11:00:00]"
    assert drains.after_snapshot(ours, snap("IDLE")) is ours
    seen = drains.after_snapshot(ours, snap("IDLE+DRAIN", reason, at=120))
    assert seen.drain_seen_at == ago(120)
    back = drains.after_snapshot(seen, snap("MIXED"))
    assert (back.undrained_at, back.withdrawn) == (ago(60), 1)
    assert drains.after_snapshot(back, snap("IDLE+DRAIN", reason, at=10)) is back
    for same in (
        drains.after_snapshot(seen, snap("MIXED", at=180)),  # older than the drain
        drains.after_snapshot(seen, snap("DOWN*")),
        drains.after_snapshot(seen, snap("IDLE+DRAIN", "fan broken")),
        drains.after_snapshot(seen, snap("IDLE", instance=iid(99))),
        drains.after_snapshot(seen, SlurmSnapshot(2, NOW, {})),
    ):
        assert same is seen
    repaired = replace(seen, repair_begun=True)
    assert drains.after_snapshot(repaired, snap("IDLE")) is repaired


# Words of others -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("Patching scheduled for IG workers", Phase.SCHEDULED),
        ("Patching of batch 2 started in IG workers", Phase.STARTED),
        ("Root volume replacement in progress for instance i-0a", Phase.STARTED),
        ("Instance i-0a patched", Phase.COMPLETED),
        ("Patching completed", Phase.COMPLETED),
        ("Patching failed for instance i-0a", Phase.FAILED),
        ("Instance i-0a is starting as part of instance replacement", None),
    ],
)
def test_patching_is_told_from_a_replacement(text, phase):
    assert patch_phase(text) is phase
    assert (repair_phase(text) is None) is (phase is not None)


def test_a_termination_that_failed_is_none():
    assert is_termination("Instance i-0a is being terminated")
    assert not is_termination("Termination of instance i-0a failed")


@pytest.mark.parametrize(
    "reason", ["action:reboot", "Action:Reboot ", "Action: Reboot", "ActionReboot", "Action:Rebot"]
)
def test_slips_are_recognised(reason):
    assert meant_for_hyperpod(reason) == "Action:Reboot"


def test_what_takes_a_question_back():
    live = cluster(node_recovery="Automatic")
    announced = event(repair_begun=True, proposed_action="replace")
    assert "will replace it" in speaks_against(announced, live)
    assert speaks_against(announced, cluster(node_recovery="None")) == ""
    assert speaks_against(event(source=Source.REPLAY, health=Health.HEALTHY), live) == ""
    assert speaks_against(event(), live) == ""
    assert overtaken(incident(), cluster(node(1, NodeStatus.PENDING)))
    assert overtaken(incident(), cluster(node(1, instance_id=iid(99))))
    assert overtaken(incident(), cluster(status="SystemUpdating"))
    assert not overtaken(incident(), without(iid(1)))  # not being listed is no sign
    assert not overtaken(incident(), live)


# Forged health -------------------------------------------------------------------------------------------------------
LOG = {"source": Source.HEALTH_AGENT_LOG, "cause": CauseClass.HARDWARE}


def test_a_nodes_own_word_does_not_recover_what_hyperpod_has_said():
    said = with_event(incident(trusted=False, last_event_at=ago(900)), event(source_time=ago(600)))
    good = event(event_id="log-1", health=Health.HEALTHY, source_time=ago(60), **LOG)
    assert admit(good, [said], cluster(), policy(), NOW).verdict is IntakeVerdict.NOTE
    assert with_event(said, good).health == "unhealthy"
    own = replace(incident(trusted=False, last_event_at=ago(900)))
    assert admit(good, [own], cluster(), policy(), NOW).verdict is IntakeVerdict.RECOVER


def test_hyperpods_late_word_outranks_good_news_of_the_node_itself():
    log = event(event_id="log-0", source_time=ago(300), **LOG)
    good = event(event_id="log-1", health=Health.HEALTHY, source_time=ago(60), **LOG)
    bad = event(event_id="hp-1", source_time=ago(120))
    for order in permutations((good, bad)):
        grown = opened(log, 1, NOW)
        for one in order:
            for changed in admit(one, [grown], cluster(), policy(), NOW).changed:
                grown = changed
        assert grown.health == "unhealthy", order
    record = admit(good, [], cluster(), policy(), NOW).incident
    assert record is not None
    assert record.state is IncidentState.CLOSED
    assert admit(bad, [record], cluster(), policy(), NOW).verdict is IntakeVerdict.OPEN
    truly = admit(replace(good, source=Source.NODE_HEALTH), [], cluster(), policy(), NOW).incident
    assert truly is not None
    assert admit(bad, [truly], cluster(), policy(), NOW).verdict is IntakeVerdict.IGNORE


# A second remediator -------------------------------------------------------------------------------------------------
def test_three_instances_within_a_day_are_a_second_remediator():
    touched = [incident(n, others=(replace(KIM, event_id=f"t-{n}"),)) for n in (1, 2, 3)]
    assert set(remediators.at_work(touched, NOW)) == {iid(1), iid(2), iid(3)}
    assert remediators.at_work(touched[:2], NOW) == {}
    assert remediators.at_work(touched, NOW + timedelta(hours=25)) == {}
    harmless = [replace(i, others=(replace(i.others[0], kind="update"),)) for i in touched]
    assert remediators.at_work(harmless, NOW) == {}


def test_how_it_ends_is_told_with_who_did_it():
    made = decide(
        facts(
            cluster=cluster(node(1, instance_id=iid(99))),
            incident=incident(others=(replace(KIM, call="BatchReplaceClusterNodes", kind="replace"),)),
        )
    )
    assert made.outcome is Outcome.SUPERSEDED
    assert "kim (Admin) called BatchReplaceClusterNodes" in made.reason
