"""The discount: VERIFIED, LOST or UNKNOWN, from evidence of three independent kinds. Pure.

1. Events: each instance's launch says whether it found reserved capacity. An on-demand one is LOST at once.
2. Counters: a training plan's InUse must have risen by the nodes that run. An account-team reservation has none.
3. The bill: an account-team reservation is only proved by the first hours billed as reserved. Any on-demand hours of
   that type are LOST, however good events and counters look: that is how a whole cluster was once billed twice over.

What is missing, empty or contradictory is UNKNOWN, never VERIFIED. A legacy cluster has no events: its plan's counters
must have risen by exactly the nodes that run, or the bill decides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from roundhouse.build.bill import COVERED, BillFinding, read_bill
from roundhouse.build.records import BilledUsage, Capacity, PlanState, Run, Sighting
from roundhouse.build.sightings import about
from roundhouse.build.spec import ClusterSpec, DiscountKind, GroupSpec
from roundhouse.line.state import Cluster, Node, NodeStatus


class Verdict(StrEnum):
    """What is known of a discount. Only VERIFIED lets a creation go on."""

    VERIFIED = "VERIFIED"
    LOST = "LOST"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class DiscountFacts:
    """The evidence, as far as it could be read (None and empty: it could not, or is not there yet).

    `began_at` is when the cluster's first node was asked for (see `began_at`); `running_since` when all nodes judged
    were Running first. `billed` reaches back a day before `began_at`.
    """

    began_at: datetime
    running_since: datetime | None
    sightings: Sequence[Sighting] = ()
    proven: Collection[str] = ()
    plan: PlanState | None = None
    plan_in_use_before: int | None = None
    billed: Sequence[BilledUsage] = ()


@dataclass(frozen=True, slots=True)
class DiscountVerdict:
    """The verdict, why, and the counts it rests on.

    `wait_until`: UNKNOWN only because evidence is still due; look again until then, and ask people after it. None: ask
    now. `waits_for_bill`: events and counters are in order and only the bill is missing. `instances` are those judged;
    of a VERIFIED stage they go to the run's `proven`.
    """

    verdict: Verdict
    reason: str
    nodes: int = 0
    reserved_nodes: int = 0
    on_demand_launches: int = 0
    plan_rise: int | None = None
    billed_on_demand_hours: float = 0.0
    billed_reserved_per_hour: float | None = None
    wait_until: datetime | None = None
    waits_for_bill: bool = False
    instances: tuple[str, ...] = ()


def began_at(run: Run) -> datetime:
    """When the first node of the cluster was asked for: of the oldest stage that the run remembers."""
    return min([run.started_at, *(record.started_at for record in run.stages)])


def verdict(
    spec: ClusterSpec, group: str, target: int, *, cluster: Cluster, facts: DiscountFacts, now: datetime
) -> DiscountVerdict:
    """The discount of a stage that wants `target` Running nodes of `group`."""
    nodes = [n for n in cluster.nodes if n.group == group and n.status is NodeStatus.RUNNING]
    short = f"{len(nodes)} of {target} nodes Running" if len(nodes) < max(target, 1) else ""
    return _Judge(spec, spec.group(group), nodes, cluster, facts, now, stage=True).judge(short)


def verify_nodes(
    spec: ClusterSpec,
    group: str,
    instance_ids: Collection[str],
    *,
    cluster: Cluster,
    facts: DiscountFacts,
    now: datetime,
) -> DiscountVerdict:
    """The discount of single nodes that came after a repair, judged as in a creation.

    Counters must cover all nodes of the plan. In the bill, reserved hours must cover all discounted nodes of the type
    (usage from before the repair is the cluster's own, and not subtracted); until it has come the verdict is UNKNOWN
    with `waits_for_bill`. `facts.began_at` is when the repair was called.
    """
    nodes = [n for n in cluster.nodes if n.instance_id in instance_ids and n.status is NodeStatus.RUNNING]
    missing = sorted(set(instance_ids) - {n.instance_id for n in nodes})
    short = f"not Running: {', '.join(missing)}" if missing else "" if nodes else "no node named"
    return _Judge(spec, spec.group(group), nodes, cluster, facts, now, stage=False).judge(short)


@dataclass
class _Judge:
    """One judgement. The order of checks is the order of certainty: what proves LOST comes first."""

    spec: ClusterSpec
    group: GroupSpec
    nodes: list[Node]
    cluster: Cluster
    facts: DiscountFacts
    now: datetime
    stage: bool

    def __post_init__(self) -> None:
        self.on_demand = [s for s in self.facts.sightings if s.capacity is Capacity.ON_DEMAND and self._ours(s)]
        reserved = [s for s in self.facts.sightings if s.capacity is Capacity.RESERVED]
        proven = set(self.facts.proven)
        self.unseen = [n for n in self.nodes if n.instance_id not in proven and not any(about(s, n) for s in reserved)]
        self.bill = self._bill()
        plan, before = self.facts.plan, self.facts.plan_in_use_before
        self.rise = plan.in_use - before if plan is not None and before is not None else None

    def judge(self, short: str) -> DiscountVerdict:
        """The verdict; `short` says which nodes are not there to be judged yet, or ""."""
        name = self.group.name
        if self.group.discount.kind is DiscountKind.NONE:
            return self._say(Verdict.VERIFIED, f"{name} has no discount that could be lost")
        if self.on_demand:
            count = len(self.on_demand)
            return self._say(
                Verdict.LOST, f"{count} launch(es) of {name} found no reservation and took on-demand capacity"
            )
        if self.bill.on_demand_hours > 0:
            reason = f"the bill shows {self.bill.on_demand_hours:.2f} on-demand hours of {self.group.instance_type}"
            return self._say(Verdict.LOST, reason)
        if short:
            return self._say(Verdict.UNKNOWN, short, self._soon())
        if self.bill.unclear:
            rows = "; ".join(self.bill.unclear[:3])
            return self._say(Verdict.UNKNOWN, f"the bill has rows that are neither reserved nor on demand: {rows}")
        if self.unseen and self.cluster.continuous:  # a legacy cluster has no events: counters and bill must do
            some = ", ".join(str(n.instance_id) for n in self.unseen[:3])
            reason = f"no capacity event for {len(self.unseen)} of {len(self.nodes)} nodes ({some})"
            return self._say(Verdict.UNKNOWN, reason, self._soon())
        if self.group.discount.kind is DiscountKind.TRAINING_PLAN:
            return self._by_plan()
        return self._by_bill()

    def _by_plan(self) -> DiscountVerdict:
        plan, arn = self.facts.plan, self.group.discount.training_plan_arn
        if plan is None or plan.arn != arn:
            return self._say(Verdict.UNKNOWN, "the training plan could not be read", self._soon())
        if plan.status != "Active":
            return self._say(Verdict.UNKNOWN, f"the training plan is {plan.status}, not Active", self._soon())
        if self.rise is None:
            return self._say(Verdict.UNKNOWN, "how many instances the plan had in use before is not known")
        wanted = sum(self.cluster.running(g.name) for g in self.spec.groups if g.discount.training_plan_arn == arn)
        counted = f"{wanted} nodes run, but the plan's InUse rose by {self.rise}"
        if self.rise < wanted:
            since = self.facts.running_since or self.now
            until = since + timedelta(seconds=self.spec.waits.counter_lag_s)
            if self.now < until:
                return self._say(Verdict.UNKNOWN, f"{counted} so far", until)
            return self._say(Verdict.LOST, counted)
        if self.cluster.continuous:
            reason = f"all {len(self.nodes)} nodes found reserved capacity and the plan's InUse rose by {self.rise}"
            return self._say(Verdict.VERIFIED, reason)
        if self.rise > wanted:  # somebody else uses the plan too, and no event tells their nodes from ours
            return self._by_bill()
        return self._say(Verdict.VERIFIED, f"the plan's InUse rose by {self.rise}, as many nodes as run")

    def _by_bill(self) -> DiscountVerdict:
        wanted = len(self._discounted())
        best = self.bill.reserved_per_hour
        if best is not None and best >= wanted * COVERED:
            found = "found reserved capacity and " if self.cluster.continuous else ""
            return self._say(Verdict.VERIFIED, f"all {len(self.nodes)} nodes {found}are billed as reserved")
        due = None
        if self.facts.running_since is not None:
            waits = self.spec.waits
            due = self.facts.running_since + timedelta(seconds=waits.bill_lag_s + waits.bill_margin_s)
        seen = "nothing of it yet" if best is None else f"{best:.1f} reserved hours an hour for {wanted} nodes"
        looks = "events look reserved, but only" if self.cluster.continuous else "there are no events, and only"
        reason = f"{looks} the bill proves it, and it shows {seen}"
        if due is not None and self.now >= due:
            return self._say(Verdict.UNKNOWN, f"{reason}, though it was due by {due.isoformat()}")
        return self._say(Verdict.UNKNOWN, reason, due or self._soon(), waits_for_bill=True)

    def _bill(self) -> BillFinding:
        plain = [g for g in self.spec.groups if g.discount.kind is DiscountKind.NONE]
        same = [g for g in plain if g.instance_type == self.group.instance_type]
        return read_bill(
            self.facts.billed,
            self.group,
            self.spec.billing,
            began_at=self.facts.began_at,
            running_since=self.facts.running_since,
            until=self.now,
            expected_on_demand=sum(g.count for g in same),
            subtract_reserved=self.stage,
        )

    def _discounted(self) -> list[Node]:
        """All Running nodes of this cluster whose hours the bill must show as reserved hours of this type."""
        names = {
            g.name
            for g in self.spec.groups
            if g.instance_type == self.group.instance_type and g.discount.kind is not DiscountKind.NONE
        }
        return [n for n in self.cluster.nodes if n.group in names and n.status is NodeStatus.RUNNING]

    def _ours(self, seen: Sighting) -> bool:
        """Whether an on-demand sighting speaks of what is judged; one that names no group may speak of any."""
        if seen.group not in {self.group.name, ""}:
            return False
        if self.stage:
            return True
        named = seen.instance_id or seen.logical_id
        about_one = named is None or any(named in {n.instance_id, n.logical_id} for n in self.nodes)
        return about_one and seen.at >= self.facts.began_at

    def _soon(self) -> datetime | None:
        """Until when missing events and answers are waited for; None when that time is over."""
        since = self.facts.running_since or self.now
        until = since + timedelta(seconds=self.spec.waits.discount_timeout_s)
        return until if self.now < until else None

    def _say(
        self, verdict: Verdict, reason: str, wait_until: datetime | None = None, *, waits_for_bill: bool = False
    ) -> DiscountVerdict:
        return DiscountVerdict(
            verdict,
            reason,
            nodes=len(self.nodes),
            reserved_nodes=len(self.nodes) - len(self.unseen),
            on_demand_launches=len(self.on_demand),
            plan_rise=self.rise,
            billed_on_demand_hours=self.bill.on_demand_hours,
            billed_reserved_per_hour=self.bill.reserved_per_hour,
            wait_until=wait_until,
            waits_for_bill=waits_for_bill,
            instances=tuple(n.instance_id for n in self.nodes if n.instance_id),
        )
