"""Gathers a report's data from the running house: records, meter, call log, Slack. Imports the demo and the product."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from roundhouse.build.cost import expected_rate, expected_usd_per_hour
from roundhouse.build.spec import ClusterSpec, DiscountKind
from roundhouse.environment.render import cluster_spec
from roundhouse.line.incident import Incident, Step
from roundhouse.ports import Run, StageRecord
from roundhouse.steps.words import OUTCOMES
from simulator.demo import acts
from simulator.demo.checks import Check, Checks
from simulator.demo.house import Deployed, House
from simulator.demo.report.calls import call_views
from simulator.demo.report.data import (
    KINDS,
    ActView,
    EnvironmentView,
    IncidentView,
    ReportData,
    StageView,
    StepView,
)
from simulator.demo.report.talk import episodes, stopped, threads

Json = dict[str, Any]
ALIKE = 3  # that many incidents of one kind become one row


def report_data(house: House, checks: Checks) -> ReportData:
    """All that the page shows, read now."""
    clock = house.aws.clock
    began, now = datetime.fromtimestamp(clock.origin, UTC), house.aws.now()
    charges: list[Json] = house.aws.control("meter", charges=True)["charges"]
    incidents = [i for deployed in house.deployed.values() for i in deployed.known()]
    calls = call_views(house.calls(), tuple(house.deployed))
    messages, deliveries = house.slack.messages(), house.slack.deliveries()
    return ReportData(
        began_at=began,
        ended_at=now,
        real=timedelta(seconds=clock.real_seconds((now - began).total_seconds())),
        environments=tuple(
            _environment(house, deployed, charges, now, messages) for deployed in house.deployed.values()
        ),
        incidents=incident_views(incidents),
        episodes=episodes(messages, incidents, calls, clock, now),
        threads=threads(messages, deliveries, clock),
        messages=len(messages),
        slowest_answer_s=max((d["elapsed"] for d in deliveries), default=None),
        calls=calls,
        acts=act_views(checks.found, act_titles()),
    )


def act_titles() -> dict[str, str]:
    """Act → title, of every act there is."""
    modules = (importlib.import_module(f"{acts.__name__}.{each.name}") for each in pkgutil.iter_modules(acts.__path__))
    return {module.ACT: module.TITLE for module in modules if hasattr(module, "ACT")} | {"always": "The whole play"}


def act_views(found: Sequence[Check], titles: dict[str, str]) -> tuple[ActView, ...]:
    """Checks by act, acts in the order in which they were played."""
    names = dict.fromkeys(check.act for check in found)
    return tuple(
        ActView(name, titles.get(name, name.replace("_", " ").capitalize()), tuple(c for c in found if c.act == name))
        for name in names
    )


def incident_views(incidents: Iterable[Incident]) -> tuple[IncidentView, ...]:
    """Incidents in order of opening; three or more of one code with the same end become one."""
    kinds: dict[tuple[object, ...], list[Incident]] = {}
    for incident in incidents:
        kinds.setdefault((incident.cluster, incident.code, incident.outcome), []).append(incident)
    grouped: list[list[Incident]] = []
    for alike in kinds.values():
        grouped += [alike] if len(alike) >= ALIKE else [[each] for each in alike]
    return tuple(sorted((_incident(alike) for alike in grouped), key=lambda view: view.opened_at))


def _incident(alike: Sequence[Incident]) -> IncidentView:
    first = min(alike, key=lambda incident: incident.opened_at)
    closed = [incident.closed_at for incident in alike]
    moved = first.current_instance_id if first.current_instance_id != first.instance_id else None
    return IncidentView(
        cluster=first.cluster,
        nodes=tuple(i.slurm_name or i.logical_id or i.instance_id for i in alike),
        instance_id=first.instance_id,
        now_instance_id=moved,
        code=first.code,
        outcome=first.outcome.value if first.outcome else "",
        ended=OUTCOMES[first.outcome] if first.outcome else f"still open: {first.state.value}",
        opened_at=first.opened_at,
        closed_at=max((at for at in closed if at), default=None) if all(closed) else None,
        decision=first.decision,
        events=sum(incident.event_count for incident in alike),
        steps=_steps(alike),
    )


def _steps(alike: Sequence[Incident]) -> tuple[StepView, ...]:
    if len(alike) == 1:
        return tuple(StepView(s.name, s.started_at, s.ended_at, s.detail) for s in alike[0].steps)
    by_name: dict[str, list[Step]] = {}
    for incident in alike:
        for step in incident.steps:
            by_name.setdefault(step.name, []).append(step)
    found = []
    for name, steps in by_name.items():
        ends = [step.ended_at for step in steps if step.ended_at]
        took = sum(any(step.name == name for step in incident.steps) for incident in alike)
        begun, ended = min(step.started_at for step in steps), max(ends) if len(ends) == len(steps) else None
        found.append(StepView(name, begun, ended, steps[0].detail, took))
    return tuple(sorted(found, key=lambda step: step.started_at))


def _environment(
    house: House, deployed: Deployed, charges: Sequence[Json], now: datetime, messages: Sequence[Json]
) -> EnvironmentView:
    spec, cluster = cluster_spec(deployed.environment), deployed.cluster
    run = deployed.runs.get(cluster)
    mine = [charge for charge in charges if charge["cluster"] == cluster]
    growth = tuple(
        (at, (counts.get(KINDS[0], 0), counts.get(KINDS[1], 0), counts.get(KINDS[2], 0)))
        for at, name, counts in house.growth
        if name == cluster
    )
    return EnvironmentView(
        name=deployed.environment.name,
        cluster=cluster,
        contract=sum(group.count for group in spec.groups if group.role == "Compute"),
        status=run.status if run else "not created",
        started_at=run.started_at if run else None,
        finished_at=run.finished_at if run else None,
        stages=tuple(_stages(run, spec, mine, stopped(messages, run.run_id, house.aws.clock))) if run else (),
        growth=growth,
        running=sum(growth[-1][1]) if growth else 0,
        expected=expected_usd_per_hour(spec),
        actual=sum(charge["rate"] for charge in live(mine, now)),
        excess_usd=excess(spec, mine, now),
        cap_usd=spec.rollback_dollar_cap,
    )


def _stages(
    run: Run, spec: ClusterSpec, charges: Sequence[Json], stop: tuple[datetime, str, str] | None
) -> Iterable[StageView]:
    discounted = {group.name: group for group in spec.groups if group.discount.kind is not DiscountKind.NONE}
    records = sorted((r for r in run.stages if r.group in discounted), key=lambda each: each.started_at)
    if stop and discounted and all(record.verdict in {"", "VERIFIED"} for record in records):
        group, number = next(iter(discounted.values())), len(records)
        target = ceil(group.stages[min(number, len(group.stages) - 1)] * group.count)
        records.append(StageRecord(group.name, number, target, stop[0], None, stop[1], stop[2]))
    for record in records:
        at = record.running_at or _dearest(charges, run.started_at)
        then = live(charges, at)
        counts = {group.name: sum(charge["group"] == group.name for charge in then) for group in spec.groups}
        yield StageView(
            number=record.stage + 1,
            group=record.group,
            target=record.target,
            at=at,
            verdict=record.verdict,
            reason=record.reason,
            expected=expected_usd_per_hour(spec, counts),
            actual=sum(charge["rate"] for charge in then),
        )


def _dearest(charges: Sequence[Json], since: datetime) -> datetime:
    """When an hour cost most: the moment to show of a stage that was stopped before all of its nodes ran."""
    moments = [_start(charge) for charge in charges if _start(charge) >= since]
    return max(moments, key=lambda at: sum(charge["rate"] for charge in live(charges, at)), default=since)


def live(charges: Iterable[Json], at: datetime) -> list[Json]:
    """The charges that ran at that time."""
    return [c for c in charges if _start(c) <= at and (c["end"] is None or at < datetime.fromisoformat(c["end"]))]


def excess(spec: ClusterSpec, charges: Iterable[Json], until: datetime) -> float:
    """USD paid above what the environment expects of each group."""
    rates = {group.name: expected_rate(group) for group in spec.groups}
    total = 0.0
    for charge in charges:
        end = datetime.fromisoformat(charge["end"]) if charge["end"] else until
        hours = max(0.0, (min(end, until) - _start(charge)).total_seconds() / 3600)
        total += max(0.0, charge["rate"] - rates.get(str(charge["group"]), charge["rate"])) * hours
    return total


def _start(charge: Json) -> datetime:
    return datetime.fromisoformat(charge["start"])
