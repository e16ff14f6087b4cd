"""Collecting what the discount is judged on: events, plan counters, bill. Ports only.

What cannot be read is left out, so that it is judged UNKNOWN, never VERIFIED.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from roundhouse.build.discount import DiscountFacts, began_at
from roundhouse.build.records import BilledUsage, PlanState, Run, Sighting
from roundhouse.build.spec import ClusterSpec, DiscountKind, GroupSpec
from roundhouse.errors import AccessDenied, AwsFailure
from roundhouse.ports import Surroundings

BILL_BEFORE = timedelta(days=1)  # what others of the account used before is subtracted


def plan_of(surroundings: Surroundings, group: GroupSpec) -> PlanState | None:
    """The group's training plan as described now; None when it has none or the answer did not come."""
    arn = group.discount.training_plan_arn
    if not arn:
        return None
    try:
        return surroundings.plan(arn)
    except AccessDenied:
        raise  # a permission that is missing is a fault of the deployment, not of the discount
    except AwsFailure:
        return None


def bill(surroundings: Surroundings, since: datetime, until: datetime) -> tuple[BilledUsage, ...]:
    """Billed hours between the two, as far as the bill has come; nothing when it cannot be read."""
    try:
        return tuple(surroundings.billed(since - BILL_BEFORE, until))
    except AccessDenied:
        raise
    except AwsFailure:
        return ()


def facts(
    run: Run,
    group: GroupSpec,
    running_since: datetime | None,
    sightings: tuple[Sighting, ...],
    surroundings: Surroundings,
    spec: ClusterSpec,
    now: datetime,
) -> DiscountFacts:
    """Everything known about the discount of `group` in this run.

    A bill is only asked for where it can be there: not before its lag, for each question costs a cent.
    """
    began = began_at(run)
    earliest = timedelta(seconds=min(spec.waits.bill_lag_s, spec.waits.discount_timeout_s))
    wants_bill = group.discount.kind is DiscountKind.ACCOUNT_RESERVATION or now - began >= earliest
    arn = group.discount.training_plan_arn
    return DiscountFacts(
        began_at=began,
        running_since=running_since,
        sightings=sightings,
        proven=run.proven,
        plan=plan_of(surroundings, group),
        plan_in_use_before=run.plan_in_use_before.get(arn) if arn else None,
        billed=bill(surroundings, began, now) if wants_bill else (),
    )
