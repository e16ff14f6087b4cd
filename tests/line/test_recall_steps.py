"""A call that the incident learns of from the ledger leaves the same steps as one that it made itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.line.action import REPAIR
from roundhouse.line.drains import DRAIN
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Attempt, Incident, IncidentState, Step
from roundhouse.line.ladder import Rung
from roundhouse.line.recall import recalled

T0 = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
OLD, CALLED = "i-0aaaaaaaaaaaaaaa1", T0 + timedelta(minutes=20)
INCIDENT = Incident(
    incident_id="inc-0123456789abcdef-1",
    cluster="train-demo",
    instance_id=OLD,
    cause=CauseClass.HARDWARE,
    occurrence=1,
    opened_at=T0,
    last_event_at=T0,
    steps=(Step(DRAIN, T0 + timedelta(minutes=10), None, "jobs may run"),),
)
ENTRY = LedgerEntry(
    action_id=f"{INCIDENT.incident_id}/replace/{OLD}/1",
    cluster="train-demo",
    kind="replace",
    subject=OLD,
    incident_id=INCIDENT.incident_id,
    state=LedgerState.CALLED,
    claimed_at=CALLED,
    updated_at=CALLED,
)
NOW = CALLED + timedelta(minutes=15)


def steps_of(incident: Incident) -> list[tuple[str, datetime, datetime | None]]:
    return [(step.name, step.started_at, step.ended_at) for step in incident.steps]


def test_the_repair_is_a_step_from_the_claim_on_and_the_drain_is_over() -> None:
    known = recalled(INCIDENT, [ENTRY], None, NOW, 600)
    assert (known.state, [a.rung for a in known.attempts]) == (IncidentState.ACTING, [Rung.REPLACE])
    assert steps_of(known) == [(DRAIN, T0 + timedelta(minutes=10), CALLED), (REPAIR, CALLED, None)]
    assert recalled(known, [ENTRY], None, NOW, 600) is known


def test_an_older_call_that_was_lost_begins_no_step_of_its_own() -> None:
    later = CALLED + timedelta(hours=2)
    newest = Attempt(Rung.REPLACE, "i-0bbbbbbbbbbbbbbb2", later, "called")
    proving = replace(INCIDENT, attempts=(newest,), steps=(Step(REPAIR, later, later + timedelta(minutes=5)),))
    known = recalled(proving, [ENTRY], None, later + timedelta(minutes=6), 600)
    assert [(a.instance_id, a.result) for a in known.attempts] == [(OLD, "failed"), (newest.instance_id, "called")]
    assert known.steps == proving.steps


def test_a_drain_that_was_ordered_again_after_the_call_does_not_end_before_it_began() -> None:
    again = CALLED + timedelta(minutes=5)
    known = recalled(replace(INCIDENT, steps=(Step(DRAIN, again),)), [ENTRY], None, NOW, 600)
    assert steps_of(known)[0] == (DRAIN, again, again)
