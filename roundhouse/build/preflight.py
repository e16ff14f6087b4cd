"""Preflight: whether a creation may begin, judged from facts of the account. Pure; reports every problem at once.

A reserved group whose subnet, plan or reservation is in another AZ is not refused by HyperPod: it silently runs on
demand. So whatever could not be read is a problem too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from roundhouse.build.problem import Problem, shown
from roundhouse.build.records import PlanState
from roundhouse.build.rehearsal import REASON_LEAST, Unrehearsed
from roundhouse.build.scripts import Scripts, scripts_of
from roundhouse.build.spec import ClusterSpec, DiscountKind, GroupSpec
from roundhouse.build.staging import StepKind, next_step, stage_target
from roundhouse.line.state import Cluster

# Names as Service Quotas lists them for SageMaker.
TYPE_QUOTA = "{instance_type} for cluster usage"
CLUSTER_QUOTA = "Maximum number instances allowed per SageMaker HyperPod cluster"
TOTAL_QUOTA = "Total number of instances allowed across SageMaker HyperPod clusters"

PLAN_TARGET = "hyperpod-cluster"
TAKEN_BACK = timedelta(hours=1)  # HyperPod takes a plan's instances back that long before its end


@dataclass(frozen=True, slots=True)
class PreflightFacts:
    """What was read, keyed by what `spec` names. None: there is no such thing.

    `unread`: path of a problem (`account`, `cluster.name`, a subnet, file system, plan or script by its id, `quota
    <name>`, `rehearsal of <script>`) → why it could not be read. `ours`: our ledger or run record says that we created
    `cluster`. `unproved`: script → why no rehearsal proves it, None when one does. `unrehearsed`: somebody's reason for
    going without.
    """

    account_id: str | None
    subnet_az_ids: Mapping[str, str | None] = field(default_factory=dict)
    file_system_az_ids: Mapping[str, str | None] = field(default_factory=dict)
    plans: Mapping[str, PlanState | None] = field(default_factory=dict)
    quotas: Mapping[str, float | None] = field(default_factory=dict)
    scripts: Mapping[str, bool] = field(default_factory=dict)
    cluster: Cluster | None = None
    ours: bool = False
    unread: Mapping[str, str] = field(default_factory=dict)
    unproved: Mapping[str, str | None] = field(default_factory=dict)
    unrehearsed: Unrehearsed | None = None


def quotas_needed(spec: ClusterSpec) -> dict[str, int]:
    """Quota name → instances that the finished cluster takes of it."""
    needed: Counter[str] = Counter()
    for group in spec.groups:
        needed[TYPE_QUOTA.format(instance_type=group.instance_type)] += group.count
        needed[CLUSTER_QUOTA] += group.count
        needed[TOTAL_QUOTA] += group.count
    return dict(needed)


def scripts_needed(spec: ClusterSpec) -> list[str]:
    """S3 URIs of the lifecycle scripts, each once."""
    return sorted({f"{g.lifecycle_s3_uri.rstrip('/')}/{g.lifecycle_script}" for g in spec.groups})


def plans_needed(spec: ClusterSpec) -> list[str]:
    """ARNs of the training plans, each once."""
    return sorted({g.discount.training_plan_arn for g in spec.groups if g.discount.training_plan_arn})


def check(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> list[Problem]:
    """Every reason why the creation must not begin; empty when it may."""
    problems = [
        Problem(key, "", f"could not be read: {why}", "Grant the permission or try again")
        for key, why in sorted(facts.unread.items())
    ]
    rules = (_account, _name, _subnets, _file_systems, _plans, _reservations, _quotas, _scripts, _rehearsals)
    for rule in rules:
        problems.extend(p for p in rule(spec, facts, now) if p.path not in facts.unread)
    return problems


def _account(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> Iterator[Problem]:
    if facts.account_id != spec.account:
        reason = f"these are credentials of another account, the environment is for {spec.account}"
        yield Problem("account", shown(facts.account_id), reason, "Deploy and run it in the environment's account")


def _name(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> Iterator[Problem]:
    if facts.cluster is None:
        return
    if not facts.ours:
        reason = "a cluster of that name exists and Roundhouse did not create it"
        yield Problem("cluster.name", shown(spec.cluster), reason, "Choose another name, or delete that cluster")
        return
    step = next_step(spec, facts.cluster, None)
    if step.kind is StepKind.REFUSE:
        remedy = "Bring cluster and environment file together, or delete the cluster"
        yield Problem("cluster", shown(spec.cluster), step.reason, remedy)


def _subnets(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> Iterator[Problem]:
    for subnet in spec.subnet_ids:
        az_id = facts.subnet_az_ids.get(subnet)
        if az_id is None:
            yield Problem(
                subnet, "", "there is no such subnet in this account and region", "Correct network.subnet_ids"
            )
        elif az_id != spec.az_id:
            reason = f"the subnet is in {az_id}, the environment's capacity and storage in {spec.az_id}"
            yield Problem(subnet, shown(az_id), reason, f"Name a subnet in {spec.az_id}, or correct az_id")


def _file_systems(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> Iterator[Problem]:
    for system in spec.file_system_ids:
        az_id = facts.file_system_az_ids.get(system)
        if az_id is None:
            yield Problem(system, "", "there is no such file system in this account and region", "Correct storage")
        elif az_id != spec.az_id:
            reason = f"the file system is in {az_id}, the nodes in {spec.az_id}: mounts would be slow and billed per GB"
            yield Problem(system, shown(az_id), reason, f"Use a file system in {spec.az_id}")


def _plans(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> Iterator[Problem]:
    for arn in plans_needed(spec):
        plan = facts.plans.get(arn)
        if plan is None:
            yield Problem(arn, "", "there is no such training plan", "Correct the ARN: without it nodes run on demand")
            continue
        groups = [g for g in spec.groups if g.discount.training_plan_arn == arn]
        yield from _plan_window(spec, plan, now)
        yield from _plan_capacity(plan, groups, facts)
        if spec.az_id not in plan.az_ids:
            where = ", ".join(plan.az_ids) or "no AZ"
            reason = f"the plan's capacity is in {where}, the subnets in {spec.az_id}: nodes would run on demand"
            yield Problem(arn, shown(where), reason, "Use subnets in the plan's AZ")
        if PLAN_TARGET not in plan.targets:
            reason = f"the plan is for {', '.join(plan.targets) or 'nothing'}, not for {PLAN_TARGET}"
            yield Problem(arn, "", reason, "Name a plan that was bought for HyperPod")


def _plan_window(spec: ClusterSpec, plan: PlanState, now: datetime) -> Iterator[Problem]:
    if plan.status not in {"Active", "Scheduled"}:
        yield Problem(plan.arn, shown(plan.status), "the plan gives no capacity", "Only Active and Scheduled plans do")
        return
    patience = timedelta(seconds=spec.waits.stage_timeout_s)
    if plan.status == "Scheduled" and (plan.starts_at is None or plan.starts_at > now + patience):
        starts = plan.starts_at.isoformat() if plan.starts_at else "an unknown time"
        reason = f"the plan starts at {starts}, later than a stage is waited for ({patience})"
        yield Problem(plan.arn, shown(plan.status), reason, "Create the cluster when the plan starts")
    if plan.ends_at is not None and plan.ends_at - TAKEN_BACK <= now + patience:
        ends = (plan.ends_at - TAKEN_BACK).isoformat()
        yield Problem(
            plan.arn, shown(ends), "the plan's instances are taken back too soon", "Extend or replace the plan"
        )


def _plan_capacity(plan: PlanState, groups: list[GroupSpec], facts: PreflightFacts) -> Iterator[Problem]:
    wrong = sorted({g.instance_type for g in groups} - {plan.instance_type})
    if wrong:
        reason = f"the plan is for {plan.instance_type}, the groups want {', '.join(wrong)}"
        yield Problem(plan.arn, shown(plan.instance_type), reason, "Give the groups the plan's instance type")
    contract = sum(g.count for g in groups)
    if plan.total < contract:
        reason = f"the plan has {plan.total} instances, the contract counts {contract}"
        yield Problem(plan.arn, str(plan.total), reason, "Lower the groups' count to the plan's")
    first = sum(stage_target(g, 0) for g in groups)
    live = sum(facts.cluster.groups[g.name].current for g in groups if facts.cluster and g.name in facts.cluster.groups)
    wanted = (first if live < first else contract) - live
    if plan.available < wanted:
        reason = f"only {plan.available} instances of the plan are free, {wanted} are wanted"
        yield Problem(plan.arn, str(plan.available), reason, "Free what other clusters hold of the plan")


def _reservations(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> Iterator[Problem]:
    for group in spec.groups:
        discount = group.discount
        if discount.kind is DiscountKind.ACCOUNT_RESERVATION and discount.az_id != spec.az_id:
            reason = f"the capacity is reserved in {discount.az_id}, the cluster stands in {spec.az_id}"
            remedy = "An account reservation is matched by account and AZ alone: use a subnet in its AZ"
            yield Problem(f"groups.{group.name}.discount", shown(discount.az_id), reason, remedy)


def _quotas(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> Iterator[Problem]:
    for name, needed in quotas_needed(spec).items():
        value = facts.quotas.get(name)
        if value is None:
            yield Problem(f"quota {name}", "", "the account lists no such quota", "Request it in Service Quotas")
        elif value < needed:
            reason = f"the quota is {value:.0f}, the finished cluster needs {needed}"
            yield Problem(f"quota {name}", f"{value:.0f}", reason, "Request an increase in Service Quotas")


def _scripts(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> Iterator[Problem]:
    for uri in scripts_needed(spec):
        if not facts.scripts.get(uri, False):
            remedy = "Upload it: without it every node fails, and each attempt is billed"
            yield Problem(uri, "", "the lifecycle script is not there", remedy)


def rehearsal_key(scripts: Scripts) -> str:
    """Path of a problem with the rehearsal of these scripts."""
    return f"rehearsal of {scripts}"


def _rehearsals(spec: ClusterSpec, facts: PreflightFacts, now: datetime) -> Iterator[Problem]:
    """Scripts that fail on the first node fail on all of them, and may cost the discount: they have to be tried first.

    Going without takes a reason that people can read later, and a name."""
    without = facts.unrehearsed
    if without is not None:
        if len(without.why.strip()) < REASON_LEAST or not without.by.strip():
            reason = f"going without a rehearsal takes a reason of at least {REASON_LEAST} characters, and who gives it"
            yield Problem("unrehearsed", shown(without.why), reason, 'Write --unrehearsed "why it cannot wait"')
        return
    if not spec.rehearsal.required:
        return
    for scripts in scripts_of(spec):
        why = facts.unproved.get(str(scripts), "nobody has looked for their rehearsal")
        if why is not None and facts.scripts.get(str(scripts), False):
            remedy = f"Run `roundhouse rehearse -e {spec.environment}` first, or create with --unrehearsed and a reason"
            yield Problem(rehearsal_key(scripts), "", why, remedy)
