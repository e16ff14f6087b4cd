"""Every kind of difference: what is found, what is not, and what is done about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.contracts.executions import ExecutionState
from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.line.approval import Approval, ApprovalStatus, Option
from roundhouse.line.breaker import BreakerEntry, BreakerState, BreakerStatus
from roundhouse.line.incident import Attempt, Incident, IncidentState, Outcome, close
from roundhouse.line.ladder import Rung
from roundhouse.line.reconcile import Creation, Facts, Kind, Remedy, compare
from roundhouse.line.restart import Workflow
from roundhouse.line.state import Cluster, Group, NodeStatus
from tests.line.build import CONTROLLER, NOW, ago, cluster, iid, incident, node, policy, slurm

RUNNING = Workflow(1, ExecutionState.RUNNING, alive=True)
ABORTED = Workflow(1, ExecutionState.ABORTED, alive=False)
NEVER = Workflow(0, None, alive=False)
FORMER = Workflow(2, ExecutionState.FAILED, alive=True)  # somebody has redriven the first
INC = incident().incident_id


def closed(outcome: Outcome = Outcome.REPAIRED, ago_s: float = 3600, **changes: Any) -> Incident:
    return close(incident(**changes), outcome, ago(ago_s), "over")


def called(
    rung: Rung = Rung.REPLACE, state: LedgerState = LedgerState.CALLED, at_s: float = 1200, **changes: Any
) -> LedgerEntry:
    made = LedgerEntry(
        action_id=action_id(INC, rung.value, iid(1)),
        cluster="train-a",
        kind=rung.value,
        subject=iid(1),
        incident_id=INC,
        state=state,
        claimed_at=ago(at_s),
        updated_at=ago(at_s),
        group="workers",
        logical_id="n-1",
    )
    return replace(made, **changes)


def added(state: LedgerState = LedgerState.CALLED, **changes: Any) -> LedgerEntry:
    made = replace(
        called(state=state), action_id=f"{INC}/add_nodes/{iid(1)}/1", kind="add_nodes", subject=f"workers:{iid(1)}"
    )
    return replace(made, **{"logical_id": None, **changes})


def attempt(rung: Rung = Rung.REPLACE, result: str = "called", at_s: float = 1200) -> Attempt:
    return Attempt(rung, iid(1), ago(at_s), result)


def approval(status: ApprovalStatus = ApprovalStatus.PENDING, **changes: Any) -> Approval:
    made = Approval(
        approval_id="apr-1",
        kind="repair",
        cluster="train-a",
        subject=INC,
        question="Replace it?",
        options=(Option("approve", "Approve"), Option("deny", "Deny")),
        on_silence="deny",
        asked_at=ago(1500),
        expires_at=NOW + timedelta(hours=1),
        approvers=("U0ALICE",),
        instance_id=iid(1),
        rung="replace",
        status=status,
    )
    return replace(made, **changes)


DECIDED = approval(ApprovalStatus.DECIDED, choice="approve", decided_by="U0ALICE", decided_at=ago(600))
ASKED = incident(state=IncidentState.APPROVAL, asked="apr-1")
HEIR = cluster(node(1, instance_id=iid(101)))
DONE = Creation("run-1", "done", ago(90000), ago(80000), ExecutionState.SUCCEEDED)
GOING = Creation("run-1", "running", ago(9000), None, ExecutionState.RUNNING)
DISCOUNT = approval(kind="discount", subject="run-1", instance_id=None, rung=None)
FEWER = cluster(groups={**cluster().groups, "workers": Group("workers", "ml.g6.48xlarge", 63, 63)})
FAILED = cluster(node(7, NodeStatus.FAILURE, message="fault type NvidiaErrorTerminate on this node"))
UNCONTROLLED = replace(cluster(), nodes=tuple(n for n in cluster().nodes if n != CONTROLLER))
NAME = "ip-10-1-2-1"


def drained(
    reason: str = f"roundhouse: {INC} NvidiaErrorTerminate", state: str = "IDLE+DRAIN", **changes: Any
) -> Cluster:
    return replace(cluster(), slurm=slurm(NAME, state, reason), **changes)


def half_open(canary: int = 1) -> BreakerState:
    return BreakerState(BreakerStatus.HALF_OPEN, ago(7000), "many", canary=iid(canary))


def opened(number: int = 1) -> BreakerState:
    return BreakerState(
        BreakerStatus.OPEN,
        ago(7000),
        "many",
        entries=(BreakerEntry(ago(7100), "signal", iid(number), "workers", "hardware"),),
    )


def facts(*incidents: Incident, workflow: Workflow | None = RUNNING, **changes: Any) -> Facts:
    workflows: Mapping[str, Workflow] = {i.incident_id: workflow for i in incidents} if workflow else {}
    made = Facts(
        now=NOW,
        policy=policy(),
        contract={"workers": 64},
        cluster=cluster(),
        incidents=incidents,
        workflows=workflows,
        breaker=BreakerState(),
        creation=DONE,
    )
    return replace(made, **changes)


FOUND: dict[str, tuple[Facts, Kind, Remedy, str]] = {
    "stopped": (facts(incident(), workflow=ABORTED), Kind.NO_WORKFLOW, Remedy.BEGIN, "ended as aborted"),
    "never begun": (facts(incident(), workflow=NEVER), Kind.NO_WORKFLOW, Remedy.BEGIN, "never began"),
    "stopped for the fourth time": (
        facts(incident(restarts=(ago(900), ago(600), ago(300))), workflow=ABORTED),
        Kind.STOPPED_TOO_OFTEN, Remedy.HAND_OVER, "3 times within 24 h",
    ),
    "restarts of another day": (
        facts(incident(restarts=(ago(90000), ago(600), ago(300))), workflow=ABORTED),
        Kind.NO_WORKFLOW, Remedy.BEGIN, "aborted",
    ),
    "closed and still running": (
        facts(closed(ago_s=7300)), Kind.CLOSED_BUT_RUNNING, Remedy.SHOW, "its workflow runs",
    ),
    "creation without workflow": (
        facts(creation=replace(GOING, execution=ExecutionState.ABORTED)),
        Kind.RUN_WITHOUT_WORKFLOW, Remedy.SHOW, "roundhouse create -e test",
    ),
    "creation that is not known": (
        facts(creation=replace(GOING, execution=None)), Kind.RUN_WITHOUT_WORKFLOW, Remedy.SHOW, "is not known",
    ),
    "workflow without creation": (
        facts(creation=replace(DONE, execution=ExecutionState.RUNNING)),
        Kind.WORKFLOW_WITHOUT_RUN, Remedy.SHOW, "still runs",
    ),
    "decided, not answered": (
        facts(ASKED, approvals=[DECIDED]), Kind.UNANSWERED_TASK, Remedy.SETTLE, "was not told",
    ),
    "withdrawn, not answered": (
        facts(ASKED, approvals=[approval(ApprovalStatus.OUTDATED, decided_at=ago(600))]),
        Kind.UNANSWERED_TASK, Remedy.SETTLE, "outdated",
    ),
    "discount decided, not answered": (
        facts(creation=GOING, approvals=[replace(DISCOUNT, status=ApprovalStatus.DECIDED, decided_at=ago(600))]),
        Kind.UNANSWERED_TASK, Remedy.SETTLE, "was not told",
    ),
    "question of a closed incident": (
        facts(closed(), approvals=[approval()]), Kind.STALE_QUESTION, Remedy.WITHDRAW, "closed (repaired)",
    ),
    "question of an incident that is lost": (
        facts(approvals=[approval()]), Kind.STALE_QUESTION, Remedy.WITHDRAW, "not on record",
    ),
    "question about an instance that was replaced": (
        facts(ASKED, approvals=[approval()], cluster=HEIR), Kind.STALE_QUESTION, Remedy.WITHDRAW, f"{iid(101)} stands",
    ),
    "question of a former creation": (
        facts(creation=replace(GOING, run_id="run-2"), approvals=[DISCOUNT]),
        Kind.STALE_QUESTION, Remedy.WITHDRAW, "another creation",
    ),
    "question of a creation that has ended": (
        facts(approvals=[DISCOUNT]), Kind.STALE_QUESTION, Remedy.WITHDRAW, "ended (done)",
    ),
    "question beyond its time": (
        facts(ASKED, approvals=[approval(expires_at=ago(700))]), Kind.LATE_QUESTION, Remedy.EXPIRE, "nobody answered",
    ),
    "call that the incident does not know": (
        facts(incident(), ledger=[called()], cluster=HEIR),
        Kind.FORGOTTEN_CALL, Remedy.REMEMBER, f"replace of {iid(1)}",
    ),
    "claim whose effect shows": (
        facts(incident(), ledger=[called(state=LedgerState.CLAIMED)], cluster=HEIR),
        Kind.FORGOTTEN_CALL, Remedy.REMEMBER, "not made again",
    ),
    "second call of a kind": (
        facts(
            incident(attempts=(attempt(result="failed", at_s=1700),)),
            ledger=[called(at_s=1700, state=LedgerState.CONFIRMED), called(action_id="second", at_s=900)],
        ),
        Kind.FORGOTTEN_CALL, Remedy.REMEMBER, "replace of",
    ),
    "call that the ledger does not know": (
        facts(incident(state=IncidentState.ACTING, attempts=(attempt(),))),
        Kind.LOST_ENTRY, Remedy.ENTER, "has lost it",
    ),
    "claim of a closed incident that took": (
        facts(closed(), ledger=[called(state=LedgerState.CLAIMED)], cluster=HEIR),
        Kind.OPEN_ENTRY, Remedy.CONFIRM, "is gone",
    ),
    "claim of a closed incident that never came through": (
        facts(closed(), ledger=[called(state=LedgerState.UNKNOWN)]), Kind.OPEN_ENTRY, Remedy.FAIL, "never came through",
    ),
    "claim of an incident that is lost": (
        facts(ledger=[called(state=LedgerState.CLAIMED)]), Kind.OPEN_ENTRY, Remedy.FAIL, "never came through",
    ),
    "call of a closed incident": (
        facts(closed(), ledger=[called()], cluster=HEIR), Kind.OPEN_ENTRY, Remedy.CONFIRM, "is gone",
    ),
    "reboot of a closed incident": (
        facts(closed(), ledger=[called(Rung.REBOOT)]), Kind.OPEN_ENTRY, Remedy.CONFIRM, "Running after it",
    ),
    "replacement that never came": (
        facts(closed(), ledger=[called()]), Kind.NO_EFFECT, Remedy.FAIL, "nothing came of it",
    ),
    "addition that stands": (
        facts(closed(), ledger=[added(logical_id="n-5")]), Kind.OPEN_ENTRY, Remedy.CONFIRM, "stands there",
    ),
    "addition of a group that is whole": (
        facts(closed(), ledger=[added(LedgerState.UNKNOWN)]), Kind.OPEN_ENTRY, Remedy.CONFIRM, "contract's 64",
    ),
    "drain of a repaired node": (
        facts(closed(), cluster=drained()), Kind.OUR_DRAIN, Remedy.RESUME, "has ended (repaired)",
    ),
    "drain of a denied repair": (
        facts(closed(Outcome.DENIED), cluster=drained(state="MIXED+DRAIN")),
        Kind.OUR_DRAIN, Remedy.RESUME, "has ended (denied)",
    ),
    "drain of a node that is fit and too dear": (
        facts(closed(Outcome.ESCALATED, attempts=(attempt(result="proved"),)), cluster=drained()),
        Kind.OUR_DRAIN, Remedy.RESUME, "escalated",
    ),
    "drain that no record explains": (
        facts(cluster=drained()), Kind.STRANGE_DRAIN, Remedy.SHOW, "not on record",
    ),
    "fewer than the contract": (facts(cluster=FEWER), Kind.BELOW_CONTRACT, Remedy.SHOW, "63 nodes"),
    "node in failure": (facts(cluster=FAILED), Kind.LOST_SIGNAL, Remedy.REPORT, "NvidiaErrorTerminate"),
    "node in failure again": (
        facts(closed(instance_id=iid(7), logical_id="n-7"), cluster=FAILED), Kind.LOST_SIGNAL, Remedy.REPORT, iid(7),
    ),
    "node in failure, told of yesterday": (
        facts(closed(Outcome.OBSERVED, 90000, instance_id=iid(7)), cluster=FAILED, workflows={}),
        Kind.LOST_SIGNAL, Remedy.REPORT, iid(7),
    ),
    "no controller": (facts(cluster=UNCONTROLLED), Kind.NO_CONTROLLER, Remedy.REPORT, "no node of the controller's"),
    "canary that came back": (
        facts(closed(), breaker=half_open()), Kind.CANARY_ENDED, Remedy.TELL_CANARY, "repaired",
    ),
    "recovery that the breaker does not know": (
        facts(closed(), breaker=opened()), Kind.BREAKER_NOT_TOLD, Remedy.TELL_RECOVERY, "still counts",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_difference_is_found_with_its_remedy(name: str) -> None:
    given, kind, remedy, words = FOUND[name]
    [found] = compare(given)
    assert (found.kind, found.remedy) == (kind, remedy)
    assert words in found.words


def test_every_kind_and_every_remedy_has_a_case() -> None:
    assert {kind for _, kind, _, _ in FOUND.values()} == set(Kind)
    assert {remedy for _, _, remedy, _ in FOUND.values()} == set(Remedy)


AGREE: dict[str, Facts] = {
    "nothing at all": facts(),
    "drain that serves another incident of the node": facts(
        closed(), incident(incident_id="inc-other-1", drained_by_us=True), cluster=drained()
    ),
    "at work": facts(incident()),
    "begun again by hand": facts(incident(), workflow=FORMER),
    "opened a moment ago": facts(incident(opened_at=ago(60)), workflow=NEVER),
    "execution not looked at": facts(incident(), workflow=None),
    "closed a moment ago": facts(closed(ago_s=60)),
    "creation going": facts(creation=GOING),
    "creation begun a moment ago": facts(creation=replace(GOING, started_at=ago(60), execution=None)),
    "creation that ends": facts(creation=replace(DONE, finished_at=ago(60), execution=ExecutionState.RUNNING)),
    "no creation": facts(creation=None),
    "pending question": facts(ASKED, approvals=[approval()]),
    "pending question of a stopped workflow": facts(
        replace(ASKED, restarts=()), workflow=RUNNING, approvals=[approval()]
    ),
    "decided a moment ago": facts(ASKED, approvals=[replace(DECIDED, decided_at=ago(60))]),
    "decided and read": facts(replace(ASKED, asked=""), approvals=[DECIDED]),
    "expired a moment ago": facts(ASKED, approvals=[approval(expires_at=ago(60))]),
    "not listed at all": facts(ASKED, approvals=[approval()], cluster=replace(cluster(), nodes=cluster().nodes[1:])),
    "question of a cluster that could not be read": facts(ASKED, approvals=[approval()], cluster=None),
    "call under way": facts(incident(state=IncidentState.ACTING, attempts=(attempt(),)), ledger=[called()]),
    "call of an earlier incident of the name": facts(incident(opened_at=ago(600)), ledger=[called()]),
    "call a moment ago": facts(incident(), ledger=[called(at_s=60)], cluster=HEIR),
    "claim that may still show": facts(incident(), ledger=[called(state=LedgerState.CLAIMED)]),
    "claim of a closed incident a moment ago": facts(closed(), ledger=[called(state=LedgerState.CLAIMED, at_s=300)]),
    "claim and nobody can be asked": facts(closed(), ledger=[called(state=LedgerState.CLAIMED)], cluster=None),
    "in somebody else's hands": facts(
        incident(state=IncidentState.ACTING, attempts=(attempt(result="in_hand"),)),
        ledger=[called(state=LedgerState.FAILED)],
    ),
    "ended call": facts(closed(), ledger=[called(state=LedgerState.CONFIRMED)]),
    "node of a creation": facts(ledger=[called(incident_id=None, kind="delete_nodes")]),
    "addition of a group that is short": facts(closed(), ledger=[added()], cluster=FEWER, creation=None),
    "drain of an open incident": facts(incident(drained_by_us=True), cluster=drained()),
    "drain of a node that people must look at": facts(closed(Outcome.ESCALATED), cluster=drained()),
    "drain of a node that was not mended": facts(
        closed(Outcome.EXPIRED, attempts=(attempt(result="failed"),)), cluster=drained()
    ),
    "drain seen before the end": facts(closed(ago_s=60), cluster=drained()),
    "drain of a node that is away": facts(
        closed(),
        cluster=replace(cluster(node(1, NodeStatus.PENDING)), slurm=slurm(NAME, "DOWN+DRAIN", f"roundhouse: {INC}")),
    ),
    "drain by somebody else": facts(cluster=drained("fan broken, ticket 42")),
    "our reason without a drain": facts(closed(), cluster=drained(state="IDLE")),
    "drain of another part of the line": facts(cluster=drained("roundhouse: maint-1 EC2")),
    "fewer, and being restored": facts(
        incident(state=IncidentState.ACTING, attempts=(attempt(Rung.DELETE_RESTORE),)),
        ledger=[called(Rung.DELETE_RESTORE)],
        cluster=replace(FEWER, nodes=FEWER.nodes[1:]),
    ),
    "fewer, by a call of a moment ago": facts(
        cluster=FEWER, ledger=[called(state=LedgerState.CONFIRMED, kind="delete_nodes", at_s=300)]
    ),
    "fewer, while it is created": facts(cluster=FEWER, creation=GOING),
    "fewer, and never created by us": facts(cluster=FEWER, creation=None),
    "node in failure that is known": facts(incident(7), cluster=FAILED),
    "node in failure, told of today": facts(closed(Outcome.OBSERVED, instance_id=iid(7)), cluster=FAILED),
    "node in failure, launched again": facts(incident(instance_id="node:n-7", logical_id="n-7"), cluster=FAILED),
    "node in failure while the cluster is made": facts(cluster=replace(FAILED, status="Creating")),
    "no node listed": facts(cluster=replace(cluster(), nodes=())),
    "no controller, and known": facts(incident(instance_id="cluster", group="controller"), cluster=UNCONTROLLED),
    "canary under way": facts(incident(), breaker=half_open()),
    "canary that nobody knows": facts(breaker=half_open()),
    "canary whose incident ended before": facts(closed(ago_s=7100), breaker=half_open()),
    "breaker and an unmended node": facts(closed(Outcome.ESCALATED), breaker=opened()),
    "breaker that cannot be read": facts(closed(), breaker=None),
}


@pytest.mark.parametrize("name", AGREE)
def test_what_agrees_is_no_difference(name: str) -> None:
    assert compare(AGREE[name]) == []


def test_what_begins_something_says_so() -> None:
    assert {remedy for remedy in Remedy if remedy.begins} == {Remedy.BEGIN, Remedy.REPORT}
