"""From an environment file to what runs: the policy and the cluster's spec. Imports the codec (cattrs)."""

from __future__ import annotations

from roundhouse import codec
from roundhouse.build import spec as runtime
from roundhouse.environment.catalog import Catalog, load_catalog
from roundhouse.environment.model import Environment, Group, NoDiscount, TrainingPlan
from roundhouse.line import policy as line


def parameters(env: Environment, catalog: Catalog | None = None) -> dict[str, str]:
    """JSON text of each runtime parameter by its short name (`policy`, `cluster`): what the SSM parameters hold."""
    return {"policy": codec.to_json(policy(env)), "cluster": codec.to_json(cluster_spec(env, catalog))}


def policy(env: Environment) -> line.Policy:
    """The policy of the line. Rules that the file leaves out are not in it, and so observe."""
    section = env.policy
    breaker = section.breaker
    return line.Policy(
        environment=env.name,
        cluster=env.cluster.name,
        rules={
            cause: line.Rule(rule.mode, rule.ladder, rule.grace, rule.lead) for cause, rule in section.rules.items()
        },
        budgets={rung: line.Budget(budget.per_day, budget.cooldown) for rung, budget in section.budgets.items()},
        breaker=line.BreakerLimits()
        if breaker is None
        else line.BreakerLimits(
            short_window_s=breaker.short_window,
            short_max=breaker.short_max,
            short_percent=breaker.short_percent,
            group_short_max=breaker.group_short_max,
            day_max=breaker.day_max,
            day_percent=breaker.day_percent,
            systemic_window_s=breaker.systemic_window,
            systemic_nodes=breaker.systemic_nodes,
            open_s=breaker.open,
            hold_expiry_s=breaker.hold_expiry,
        ),
        protected_groups=section.protected_groups,
        protected_nodes=section.protected_nodes,
        capacity_floor=dict(section.capacity_floor),
        approvers=env.slack.approvers,
        slack_channel=env.slack.channel,
        slack_team=env.slack.team,
        approval_ttl_s=section.approval_ttl,
        drain_deadline_s=section.drain_deadline,
        max_event_age_s=section.max_event_age,
        slurm_max_age_s=section.slurm_max_age,
        repair_timeout_s=section.repair_timeout,
        patching_limit_s=section.patching_limit,
        slurm_may_reboot=section.slurm_may_reboot,
        proof_quiet_s=section.proof_quiet,
        poll_s=section.poll,
    )


def cluster_spec(env: Environment, catalog: Catalog | None = None) -> runtime.ClusterSpec:
    """The finished cluster, with prices and billing patterns of the catalog."""
    catalog = catalog or load_catalog()
    waits = env.waits
    return runtime.ClusterSpec(
        environment=env.name,
        cluster=env.cluster.name,
        account=env.account,
        region=env.region,
        az_id=env.az_id,
        subnet_ids=env.network.subnet_ids,
        security_group_ids=env.network.security_group_ids,
        node_recovery=env.cluster.node_recovery,
        provisioning_mode=env.cluster.provisioning_mode,
        groups=tuple(_group(env, group, catalog) for group in env.groups),
        waits=runtime.StageWaits(
            poll_s=waits.poll,
            controller_timeout_s=waits.controller_timeout,
            stage_timeout_s=waits.stage_timeout,
            shortage_timeout_s=waits.shortage_timeout,
            discount_timeout_s=waits.discount_timeout,
            counter_lag_s=waits.counter_lag,
            bill_lag_s=waits.bill_lag,
            bill_margin_s=waits.bill_margin,
            bill_poll_s=waits.bill_poll,
            lifecycle_failures_max=waits.lifecycle_failures_max,
        ),
        file_system_ids=tuple(system.id for system in env.storage),
        file_system_mounts=tuple((s.dns_name, s.mount_name, s.mount_path) for s in env.storage),
        rollback_dollar_cap=env.costs.rollback_dollar_cap,
        ask_timeout_s=env.costs.ask_timeout,
        tags=tuple(sorted(env.cluster.tags.items())),
        billing=catalog.billing,
        rehearsal=runtime.RehearsalTerms(
            required=env.rehearsal.required,
            instance_type=env.rehearsal.instance_type,
            max_age_s=env.rehearsal.max_age,
            timeout_s=env.rehearsal.timeout,
        ),
    )


def _group(env: Environment, group: Group, catalog: Catalog) -> runtime.GroupSpec:
    price = catalog.price(env.region, group.instance_type)
    on_demand = group.on_demand_usd_per_hour
    if on_demand is None:
        on_demand = price.on_demand_usd_per_hour if price else 0.0  # a rule reports a price that is not known
    return runtime.GroupSpec(
        name=group.name,
        role=group.role,
        instance_type=group.instance_type,
        count=group.count,
        stages=group.stages,
        discount=_discount(group),
        on_demand_usd_per_hour=on_demand,
        execution_role_arn=group.execution_role_arn or env.cluster.execution_role_arn,
        lifecycle_s3_uri=env.cluster.lifecycle.s3_uri,
        lifecycle_script=env.cluster.lifecycle.on_create,
        threads_per_core=group.threads_per_core,
        partition=group.partition,
        ebs_gib=group.ebs_gib,
    )


def _discount(group: Group) -> runtime.Discount:
    discount = group.discount
    if isinstance(discount, NoDiscount):
        return runtime.Discount(runtime.DiscountKind.NONE)
    return runtime.Discount(
        kind=runtime.DiscountKind(discount.kind),
        az_id=discount.az_id,
        training_plan_arn=discount.training_plan_arn if isinstance(discount, TrainingPlan) else None,
        reserved_usd_per_hour=discount.reserved_usd_per_hour,
    )
