"""Others who act on the cluster while a repair is on its way: recognised, waited for, told; nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from roundhouse.contracts import names
from roundhouse.contracts.commands import REASON_PREFIX
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.approval import ApprovalStatus
from roundhouse.line.incident import Outcome
from roundhouse.line.policy import Mode
from roundhouse.line.state import NodeStatus
from tests.steps.samples import health, house, worker
from tests.steps.test_repair import REPLACE, answering, fail, heir, outcome, the, verbs
from tests.steps.world import World

KIM = "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_Admin_0123456789abcdef/kim"


def cluster_event(world: World, instance: str, description: str, **members: Any) -> dict[str, Any]:
    detail = {
        "EventId": f"c-{instance}-{description[:12]}-{world.now.isoformat()}",
        "ClusterArn": world.cluster.arn,
        "ClusterName": "train",
        "InstanceGroupName": "workers",
        "InstanceId": instance,
        "ResourceType": "Instance",
        "EventTime": round(world.now.timestamp() * 1000),
        "EventLevel": "Info",
        "Description": description,
    } | members
    return {
        "id": f"env-{detail['EventId']}",
        "detail-type": names.CLUSTER_EVENT,
        "source": names.HYPERPOD_SOURCE,
        "time": world.now.isoformat(),
        "detail": {"EventDetails": detail},
    }


def state_change(world: World, status: str) -> dict[str, Any]:
    return {
        "id": f"state-{status}-{world.now.isoformat()}",
        "detail-type": names.STATE_CHANGE,
        "source": names.HYPERPOD_SOURCE,
        "time": world.now.isoformat(),
        "detail": {"ClusterArn": world.cluster.arn, "ClusterName": "train", "ClusterStatus": status},
    }


def call_of(world: World, name: str, *nodes: str, arn: str = KIM, **changes: Any) -> dict[str, Any]:
    """CloudTrail's word of a call, of now."""
    detail = {
        "eventVersion": "1.11",
        "userIdentity": {"type": "AssumedRole", "arn": arn},
        "eventTime": world.now.isoformat(),
        "eventSource": "sagemaker.amazonaws.com",
        "eventName": name,
        "requestParameters": {"clusterName": "train", **({"nodeIds": list(nodes)} if nodes else {})},
        "eventID": f"trail-{name}-{'-'.join(nodes)}-{world.now.isoformat()}",
        "eventType": "AwsApiCall",
        "managementEvent": True,
    } | changes
    return {
        "id": f"env-{detail['eventID']}",
        "detail-type": "AWS API Call via CloudTrail",
        "source": names.HYPERPOD_SOURCE,
        "time": world.now.isoformat(),
        "detail": detail,
    }


def snapshot(world: World, sequence: int, instance: str, state: str, reason: str = "", **node: Any) -> dict[str, Any]:
    live = next(n for n in world.cluster.nodes if n.instance_id == instance)
    said = {"name": str(live.hostname).split(".")[0], "state": state, "reason": reason, "instance_id": instance} | node
    detail = {
        "version": 1,
        "cluster": "train",
        "sequence": sequence,
        "taken_at": world.now.isoformat(),
        "nodes": [said, {"name": "other", "state": "IDLE"}],
    }
    return {"id": f"s{sequence}", "source": names.SLURM_SOURCE, "time": world.now.isoformat(), "detail": detail}


def theirs(world: World, operation: str, instance: str) -> None:
    """Somebody else's call takes effect, without any word of it."""
    world.cluster._repaired(operation, world.cluster.nodes[world.cluster._at(instance)])


def waiting(world: World) -> None:
    """Until people are asked."""
    world.run(for_s=300)
    assert the(world).visited[-1] == "AskPeople"


def asking(**changes: Any) -> tuple[World, str]:
    """A house whose people have not answered yet, and the failed instance."""
    world = house(mode=Mode.ASK, ladder=REPLACE, **changes)
    instance = fail(world)
    waiting(world)
    return world, instance


# Questions are taken back --------------------------------------------------------------------------------------
def replaced(world: World, instance: str) -> dict[str, Any]:
    theirs(world, "replace", instance)
    return cluster_event(world, instance, f"Instance {instance} is starting as part of instance replacement")


def rebooted(world: World, instance: str) -> dict[str, Any]:
    theirs(world, "reboot", instance)
    return cluster_event(world, instance, f"Instance {instance} reboot in progress")


def recovered(world: World, instance: str) -> dict[str, Any]:
    return health(world, instance, "Healthy")


def by_kim(world: World, instance: str) -> dict[str, Any]:
    theirs(world, "replace", instance)
    return call_of(world, "BatchReplaceClusterNodes", instance)


def deleted_by_kim(world: World, instance: str) -> dict[str, Any]:
    world.cluster.nodes = [n for n in world.cluster.nodes if n.instance_id != instance]
    return call_of(world, "BatchDeleteClusterNodes", instance)


def patched(world: World, instance: str) -> dict[str, Any]:
    world.cluster.status = "SystemUpdating"
    return state_change(world, "SystemUpdating")


def deleting(world: World, instance: str) -> dict[str, Any]:
    world.cluster.status = "Deleting"
    return state_change(world, "Deleting")


@pytest.mark.parametrize(
    ("act", "words", "end"),
    [
        (replaced, "HyperPod has begun to replace it", Outcome.SUPERSEDED),
        (recovered, "HyperPod says that the node is healthy again", Outcome.RECOVERED),
        (by_kim, "kim", Outcome.SUPERSEDED),
        (deleted_by_kim, "kim", Outcome.SUPERSEDED),
        (deleting, "the cluster is being deleted", Outcome.IGNORED),
    ],
)
def test_a_question_is_taken_back_when_others_act_and_it_is_decided_anew(
    act: Callable[[World, str], dict[str, Any]], words: str, end: Outcome
) -> None:
    world, instance = asking()
    [question] = world.told(NoticeKind.APPROVAL_ASKED)
    news = act(world, instance)
    assert world.take(news) == []
    [approval] = world.approvals.records.values()
    assert approval.status is ApprovalStatus.OUTDATED
    assert words in approval.why
    assert "Taken back" not in world.click(question, "approve")
    assert words in world.click(question, "approve")
    world.run()
    [redrawn] = world.told(NoticeKind.APPROVAL_SETTLED)
    assert (redrawn.replaces, words in redrawn.text) == (question.notice_id, True)
    assert outcome(world, instance) is end
    assert world.cluster.calls == []
    assert len(world.told(NoticeKind.APPROVAL_ASKED)) == 1


def test_after_others_have_rebooted_it_people_are_asked_anew_by_another_question() -> None:
    world, instance = asking()
    assert world.take(rebooted(world, instance)) == []
    world.people = answering("approve")
    world.run()
    first, second = world.told(NoticeKind.APPROVAL_ASKED)
    assert first.notice_id != second.notice_id
    assert outcome(world, instance) is Outcome.REPAIRED
    assert world.cluster.made("replace") == [(instance,)]


def test_patching_takes_the_question_back_holds_and_asks_anew_when_it_is_done() -> None:
    world, instance = asking()
    assert world.take(patched(world, instance)) == []
    world.run(for_s=4 * 3600)  # longer than other holds live
    assert world.incident(instance).state == "held"
    assert world.cluster.calls == []
    world.cluster.status = "InService"
    world.people = answering("approve")
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    assert [s.name for s in world.incident(instance).steps].count("patching") == 1


def test_patching_that_lasts_too_long_is_told_to_people() -> None:
    world = house(ladder=REPLACE)
    world.cluster.status = "SystemUpdating"
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.ESCALATED
    [end] = world.told(NoticeKind.INCIDENT_CLOSED)
    assert "Support" in end.text
    assert world.cluster.calls == []


def test_news_from_well_before_the_question_and_repetitions_do_not_take_it_back() -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    instance = fail(world)
    early = round((world.now - timedelta(minutes=15)).timestamp() * 1000)
    before = cluster_event(world, instance, f"Instance {instance} reboot in progress", EventTime=early)
    waiting(world)
    assert world.take(before, before) == []
    [approval] = world.approvals.records.values()
    assert approval.status is ApprovalStatus.PENDING


def test_a_question_that_is_taken_back_again_and_again_ends_with_people() -> None:
    world, instance = asking(approval_ttl_s=86400)
    for _ in range(8):
        if world.incident(instance).state == "closed":
            break
        world.take(cluster_event(world, instance, f"Instance {instance} reboot in progress"))
        world.run(for_s=1200)
    assert outcome(world, instance) is Outcome.ESCALATED
    assert "asked 5 times" in world.incident(instance).decision
    assert world.cluster.calls == []


@pytest.mark.parametrize("order", ["click first", "news first"])
def test_a_click_and_the_news_at_one_moment_call_nothing_for_the_new_instance(order: str) -> None:
    world, instance = asking()
    [question] = world.told(NoticeKind.APPROVAL_ASKED)
    news = replaced(world, instance)
    acts: list[Callable[[], object]] = [partial(world.click, question, "approve"), partial(world.take, news)]
    for act in acts if order == "click first" else reversed(acts):
        act()
    world.run()
    assert world.cluster.calls == []
    assert outcome(world, instance) is Outcome.SUPERSEDED
    assert verbs(world)[-1] == ("resume", heir(world, instance))


def test_a_replacement_that_no_event_tells_of_is_seen_when_live_state_is_read_for_another_node() -> None:
    world, instance = asking()
    theirs(world, "replace", instance)
    world.take(health(world, worker(world, 9)))
    [first, *_] = world.approvals.records.values()
    assert first.status is ApprovalStatus.OUTDATED
    assert "stands in the place" in first.why


# HyperPod's own repair -----------------------------------------------------------------------------------------
def announced(world: World, instance: str) -> dict[str, Any]:
    made = health(world, instance)
    made["detail"]["HealthSummary"]["RepairAction"] = "Replace"
    return made


def test_an_announced_repair_is_waited_for_only_while_node_recovery_is_automatic() -> None:
    world = house(ladder=REPLACE)
    instance = worker(world, 3)
    world.take(announced(world, instance))
    world.run(for_s=900)
    assert world.cluster.made("replace") == [(instance,)]  # node recovery is None: it cannot come

    world = house(ladder=REPLACE)
    world.cluster.node_recovery = "Automatic"
    instance = worker(world, 3)
    world.take(announced(world, instance))
    world.run(for_s=3600)
    assert world.cluster.calls == []
    world.cluster.node_recovery = "None"  # switched off while we wait: counts at the next look
    world.run(for_s=900)
    assert world.cluster.made("replace") == [(instance,)]


def test_node_recovery_switched_on_in_the_middle_gives_hyperpod_its_time() -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    world.people = answering("approve", 200)
    instance = fail(world)
    waiting(world)
    world.cluster.node_recovery = "Automatic"
    switched_at = world.now
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    assert (world.incident(instance).attempts[0].at - switched_at).total_seconds() >= 300
    assert "node_recovery" in {s.name for s in world.incident(instance).steps}


# Slurm auto-resume ---------------------------------------------------------------------------------------------
def keep_saying(world: World, instance: str, state: str, reason: str, hours: float, **node: Any) -> None:
    def say(number: int) -> None:
        if any(n.instance_id == instance for n in world.cluster.nodes):
            world.take(snapshot(world, number, instance, state, reason, **node))

    for number in range(round(hours * 15)):
        world.later(number * 240, partial(say, number))


def test_slurms_request_is_left_to_hyperpod_and_ends_with_its_replacement() -> None:
    world = house(ladder=REPLACE)
    instance = worker(world, 3)
    keep_saying(world, instance, "FAIL", "Action:Replace [root@2026-10-02T16:00:00]", 1)
    world.later(10, lambda: fail(world))
    world.later(2400, lambda: theirs(world, "replace", instance))
    world.run(2000)
    assert "HyperPod will replace it" in world.incident(instance).decision
    world.run()
    assert outcome(world, instance) is Outcome.SUPERSEDED
    assert world.cluster.calls == []
    assert world.agent.commands == []  # its reason is never written over
    assert "auto_resume" in {s.name for s in world.incident(instance).steps}


def test_slurms_request_waits_for_jobs_and_then_has_the_time_of_a_repair() -> None:
    world = house(ladder=REPLACE, repair_timeout_s=3600)
    instance = worker(world, 3)
    keep_saying(world, instance, "FAIL", "Action:Replace", 6, jobs=[7])
    world.later(10, lambda: fail(world))
    world.run(2 * 3600)
    assert "job 7" in world.incident(instance).decision
    world.scheduled.clear()
    keep_saying(world, instance, "FAIL", "Action:Replace", 3)
    world.run()
    assert outcome(world, instance) is Outcome.ESCALATED
    assert "has not acted within 60 min" in world.incident(instance).decision
    assert world.cluster.calls == []


def test_a_slip_in_the_reason_is_told_with_the_right_text() -> None:
    world = house(ladder=REPLACE)
    instance = worker(world, 3)
    keep_saying(world, instance, "FAIL", "action:replace", 1)
    world.run()
    assert outcome(world, instance) is Outcome.ESCALATED
    [end] = world.told(NoticeKind.INCIDENT_CLOSED)
    assert 'reason="Action:Replace"' in end.text


# Patching --------------------------------------------------------------------------------------------------------
def test_a_node_that_goes_down_while_it_is_patched_opens_nothing_unless_it_stays_down() -> None:
    world = house(slurm_may_reboot=True)
    instance = worker(world, 3)
    world.cluster.set_status(instance, NodeStatus.SYSTEM_UPDATING)
    world.take(snapshot(world, 1, instance, "DOWN*"))
    assert world.incidents.records == {}
    world.later(60, lambda: world.take(snapshot(world, 2, instance, "DOWN*")))
    world.run(61)
    assert world.incidents.records == {}
    world.cluster.set_status(instance, NodeStatus.RUNNING)
    world.later(60, lambda: world.take(snapshot(world, 3, instance, "DOWN*")))
    world.run(61)
    assert [i.instance_id for i in world.incidents.records.values()] == [instance]


def test_a_new_instance_that_never_joins_slurm_is_told_once_its_repair_is_over() -> None:
    world, instance = asking()
    by_hand = replaced(world, instance)
    world.take(by_hand)
    new = heir(world, instance)
    world.take(snapshot(world, 1, new, "DOWN*"))
    assert list(world.control.snapshot("train").nodes) != [], "what Slurm says of it is known all the while"
    world.run()
    assert outcome(world, instance) is Outcome.SUPERSEDED
    assert [i.instance_id for i in world.incidents.records.values()] == [instance]
    world.take(snapshot(world, 2, new, "DOWN*"))
    assert world.incident(new).code == "slurm_not_responding"
    known = len(world.incidents.records)
    world.take(snapshot(world, 3, new, "DOWN*"))
    assert len(world.incidents.records) == known, "and then not again"


def test_a_name_that_was_down_before_its_new_instance_came_is_told_if_it_stays_down() -> None:
    world = house()
    instance = worker(world, 3)
    early = snapshot(world, 1, instance, "DOWN*", instance_id=None)
    name = next(n.logical_id for n in world.cluster.nodes if n.instance_id == instance)
    theirs(world, "replace", instance)
    world.later(600, lambda: None)
    world.run(601)
    at = next(i for i, n in enumerate(world.cluster.nodes) if n.logical_id == name)
    world.cluster.nodes[at] = replace(world.cluster.nodes[at], launched_at=world.now)
    new = str(world.cluster.nodes[at].instance_id)
    assert world.take(early) == []
    assert world.incidents.records == {}, "the instance behind the name at that time is gone"
    world.take(snapshot(world, 2, new, "DOWN*", instance_id=None))
    assert world.incident(new).code == "slurm_not_responding"


def test_another_group_that_is_patched_suspends_nothing_here() -> None:
    world = house(ladder=REPLACE)
    world.cluster.groups["controller"] = replace(world.cluster.groups["controller"], software_update="InProgress")
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED


# People -----------------------------------------------------------------------------------------------------------
def test_a_persons_call_is_told_waited_for_and_counted_once() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    said = call_of(world, "BatchRebootClusterNodes", instance)
    assert world.take(said, said) == []
    world.run(for_s=150)
    incident = world.incident(instance)
    assert [(o.who, o.kind) for o in incident.others] == [("kim (AWSReservedSSO_Admin_0123456789abcdef)", "reboot")]
    assert [e.kind for e in world.breaker.load("train").entries].count("theirs") == 1
    assert world.cluster.calls == []


@pytest.mark.parametrize(
    "changes",
    [
        {"errorCode": "ValidationException"},
        {"arn": "arn:aws:sts::111122223333:assumed-role/AWSServiceRoleForAmazonSageMakerHyperPod/x"},
        {"arn": "arn:aws:sts::111122223333:assumed-role/Roundhouse-unit-Workflows-Role1/roundhouse-unit-act-on-node"},
        {"responseElements": {"successful": [], "failed": [{"nodeId": "i-00000000000000005"}]}},
    ],
)
def test_calls_that_failed_and_calls_of_hyperpod_or_ours_are_nobody_elses(changes: dict[str, Any]) -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    assert instance == "i-00000000000000005"
    world.take(call_of(world, "BatchReplaceClusterNodes", instance, **changes))
    assert world.incident(instance).others == ()
    assert not [e for e in world.breaker.load("train").entries if e.kind == "theirs"]


def test_a_second_remediator_is_told_once_a_day() -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    for number in (3, 5, 7):
        fail(world, number)
        world.take(call_of(world, "BatchReplaceClusterNodes", worker(world, number)))
    fail(world, 8)
    world.take(call_of(world, "BatchReplaceClusterNodes", worker(world, 8)))
    [notice] = world.told(NoticeKind.ANOTHER_REMEDIATOR)
    assert "kim" in notice.text
    assert "pause" in notice.facts["Pause this one"]


def test_our_drain_taken_back_by_hand_is_not_set_again_and_people_are_asked() -> None:
    world = house(ladder=REPLACE, drain_deadline_s=3600)
    instance = fail(world)
    world.run(for_s=200)
    incident = world.incident(instance)
    assert verbs(world) == [("cordon", instance)]
    ours = f"{REASON_PREFIX} {incident.incident_id} code [root@2026-10-02T16:00:00]"
    world.take(snapshot(world, 1, instance, "MIXED+DRAIN", ours, jobs=[7]))
    world.run(for_s=60)
    world.take(snapshot(world, 2, instance, "MIXED", jobs=[7]))
    world.run(for_s=4000)
    assert world.cluster.calls == []
    [question] = world.told(NoticeKind.APPROVAL_ASKED)
    assert "taken back by hand" in question.facts["Why"]
    assert [n for n in world.told(NoticeKind.INCIDENT_STEP) if "taken back by hand" in n.title]
    world.click(question, "approve")
    world.run()
    assert world.cluster.made("replace") == [(instance,)]
    assert verbs(world).count(("cordon", instance)) == 1


# Lists that lag ----------------------------------------------------------------------------------------------------
def test_one_list_that_omits_the_node_closes_nothing() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    kept = [n for n in world.cluster.nodes if n.instance_id == instance]

    def omit() -> None:
        world.cluster.nodes = [n for n in world.cluster.nodes if n.instance_id != instance]

    world.later(100, omit)
    world.later(150, lambda: world.cluster.nodes.extend(kept))
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    assert "missing" in {s.name for s in world.incident(instance).steps}


def test_two_lists_that_omit_it_do() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    world.cluster.nodes = [n for n in world.cluster.nodes if n.instance_id != instance]
    world.run()
    assert outcome(world, instance) is Outcome.SUPERSEDED
    assert world.cluster.calls == []


# The controller ----------------------------------------------------------------------------------------------------
def controller(world: World) -> str:
    return next(n.instance_id or "" for n in world.cluster.nodes if n.group == "controller")


def test_a_lost_controller_is_told_at_once_and_once_and_nothing_is_acted_upon_meanwhile() -> None:
    world = house(ladder=REPLACE)
    lost = controller(world)
    world.cluster.set_status(lost, NodeStatus.FAILURE)
    world.take(health(world, lost))
    efa = health(world, lost)
    efa["detail"]["HealthSummary"]["HealthStatusReason"] = "has detected fault type EfaLinkDown on this node"
    world.take(efa | {"id": "another-cause"})
    world.run(for_s=5)
    said = world.told(NoticeKind.CONTROLLER_LOST)
    assert {n.notice_id for n in said} == {said[0].notice_id}
    assert said[0].broadcast
    assert "Support" in said[0].text
    workers = [fail(world, number) for number in (3, 5, 7)]
    world.run()
    assert world.cluster.calls == []
    assert world.agent.commands == []
    assert {outcome(world, instance) for instance in workers} == {Outcome.EXPIRED}
    told = [n for n in world.outbox.notices if n.kind is not NoticeKind.CONTROLLER_LOST]
    assert [n.title for n in told] == []


def test_work_goes_on_when_the_controller_is_back() -> None:
    world = house(ladder=REPLACE)
    world.cluster.set_status(controller(world), NodeStatus.PENDING)
    instance = fail(world)
    world.later(1800, lambda: world.cluster.set_status(controller(world), NodeStatus.RUNNING))
    world.boot_s = 10**9
    world.run(for_s=1700)
    assert "no node is acted upon" in world.incident(instance).decision
    world.boot_s = 90
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
