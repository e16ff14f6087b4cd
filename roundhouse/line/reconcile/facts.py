"""What the reconciler compares, and what it may find. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from roundhouse.contracts.executions import ExecutionState
from roundhouse.contracts.ledger import LedgerEntry
from roundhouse.line.approval import Approval
from roundhouse.line.breaker import BreakerState
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.line.policy import Policy
from roundhouse.line.restart import Workflow
from roundhouse.line.state import Cluster, Pause

LAG = timedelta(minutes=2)  # what was written or sent a moment ago has not shown itself everywhere yet


class Kind(StrEnum):
    """One kind of difference; each has one rule that finds it."""

    NO_WORKFLOW = "no_workflow"  # an open incident, and nobody works on it
    STOPPED_TOO_OFTEN = "stopped_too_often"
    CLOSED_BUT_RUNNING = "closed_but_running"
    UNANSWERED_TASK = "unanswered_task"  # decided by people, and the workflow still waits
    STALE_QUESTION = "stale_question"  # what it asks is gone
    LATE_QUESTION = "late_question"  # nobody answered in time, and nobody wrote that down
    FORGOTTEN_CALL = "forgotten_call"  # in the ledger, not in the incident
    LOST_ENTRY = "lost_entry"  # in the incident, not in the ledger
    OPEN_ENTRY = "open_entry"  # the ledger waits for an end that nobody will write
    NO_EFFECT = "no_effect"  # accepted by HyperPod, and nothing came of it
    OUR_DRAIN = "our_drain"  # of an incident that has ended well
    STRANGE_DRAIN = "strange_drain"  # it carries our mark, and no record of ours explains it
    BELOW_CONTRACT = "below_contract"
    RUN_WITHOUT_WORKFLOW = "run_without_workflow"
    WORKFLOW_WITHOUT_RUN = "workflow_without_run"
    CANARY_ENDED = "canary_ended"
    BREAKER_NOT_TOLD = "breaker_not_told"  # of a recovery
    LOST_SIGNAL = "lost_signal"  # HyperPod has a node in Failure, and no incident knows
    NO_CONTROLLER = "no_controller"


class Remedy(StrEnum):
    """What is done about a difference. SHOW: only people can."""

    BEGIN = "begin"  # the workflow, again
    HAND_OVER = "hand_over"  # the incident is closed as escalated: people must act
    SETTLE = "settle"
    WITHDRAW = "withdraw"
    EXPIRE = "expire"
    REMEMBER = "remember"  # the ledger's call, in the incident
    ENTER = "enter"  # the incident's call, in the ledger
    CONFIRM = "confirm"
    FAIL = "fail"
    RESUME = "resume"  # take our drain back
    TELL_CANARY = "tell_canary"
    TELL_RECOVERY = "tell_recovery"
    REPORT = "report"  # a signal of our own, read from HyperPod
    SHOW = "show"

    @property
    def begins(self) -> bool:
        """True for what sets the line going: not done while automatic action is paused."""
        return self in {Remedy.BEGIN, Remedy.REPORT}


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `subject` is the id that the remedy goes by: an incident, approval, action, run, group or
    instance; `node` the instance that a drain is to be taken back from. `words` say what differs, for people."""

    kind: Kind
    subject: str
    words: str
    remedy: Remedy
    node: str = ""


@dataclass(frozen=True, slots=True)
class Creation:
    """The newest creation: what its record says, and how its execution stands (None: there is none)."""

    run_id: str
    status: str
    started_at: datetime
    finished_at: datetime | None
    execution: ExecutionState | None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is compared, read just now. `cluster` or `breaker` None: could not be read, and is left out.

    `incidents` are those of the last weeks, and older ones that a drain names; `workflows` by incident id, of those
    whose executions were looked at. `contract` is compute group → nodes that the environment asks for.
    """

    now: datetime
    policy: Policy
    contract: Mapping[str, int]
    cluster: Cluster | None
    incidents: Sequence[Incident]
    workflows: Mapping[str, Workflow] = field(default_factory=dict)
    approvals: Sequence[Approval] = ()
    ledger: Sequence[LedgerEntry] = ()
    breaker: BreakerState | None = None
    creation: Creation | None = None
    pause: Pause | None = None
    unread: tuple[str, ...] = ()  # what else could not be read, in words

    def incident(self, incident_id: str | None) -> Incident | None:
        return next((i for i in self.incidents if i.incident_id == incident_id), None)

    @property
    def open(self) -> list[Incident]:
        return [i for i in self.incidents if i.state is not IncidentState.CLOSED]

    @property
    def closed(self) -> list[Incident]:
        return [i for i in self.incidents if i.state is IncidentState.CLOSED]

    @property
    def live(self) -> Cluster | None:
        """The cluster, when it lists nodes: an empty answer is unknown."""
        return self.cluster if self.cluster is not None and self.cluster.nodes else None

    def older(self, at: datetime | None, age: timedelta) -> bool:
        return at is not None and self.now - at >= age
