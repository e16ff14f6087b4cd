"""Preflight: gather what can be known before money is spent, and refuse with all problems at once. Ports only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from roundhouse.build.cost import expected_usd_per_hour
from roundhouse.build.preflight import (
    PreflightFacts,
    check,
    plans_needed,
    quotas_needed,
    rehearsal_key,
    scripts_needed,
)
from roundhouse.build.problem import listing
from roundhouse.build.rehearsal import Unrehearsed, proof
from roundhouse.build.scripts import digest, scripts_of
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import AwsFailure, BadInput, NotFound, PreflightFailed, Refused
from roundhouse.ports import ClusterReader, ControlStore, Outbox, RehearsalStore, Run, RunStore, Surroundings
from roundhouse.steps import look, words
from roundhouse.steps.creation import own

T = TypeVar("T")


def preflight(
    run_id: str,
    unrehearsed: Unrehearsed | None = None,
    *,
    reader: ClusterReader,
    surroundings: Surroundings,
    runs: RunStore,
    rehearsals: RehearsalStore,
    control: ControlStore,
    outbox: Outbox,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """Take the cluster's run, check, and remember what the plans had in use before. Raises PreflightFailed.

    While people pause us nothing is begun (Refused), and a run under way keeps the cluster. `unrehearsed` is somebody's
    reason for not asking for a rehearsal of the lifecycle scripts; it is kept in the run and told.
    """
    known = runs.get(spec.cluster)
    switch = control.pause()
    if switch is not None:
        if known is None or known.status != "running":
            own.take(runs, spec.cluster, run_id, now)  # so that its end can be told
        raise Refused(f"paused by {switch.by} since {switch.since:%Y-%m-%d %H:%M} UTC: {switch.why}")
    cluster = look.read(reader, spec.cluster)
    ours = known is not None and bool(known.stages) and not (cluster and known.made_another(cluster.arn))
    run = own.take(runs, spec.cluster, run_id, now)
    if cluster is None and ours:
        # The cluster that those records are about is gone: a new one proves itself anew.
        run = own.update(runs, spec.cluster, run_id, _forget)
    facts = replace(_gather(surroundings, spec), cluster=cluster, ours=ours, unrehearsed=unrehearsed)
    if spec.rehearsal.required and unrehearsed is None:
        unproved, unread = _look_for_rehearsals(surroundings, rehearsals, spec, now)
        facts = replace(facts, unproved=unproved, unread={**facts.unread, **unread})
    problems = check(spec, facts, now)
    if problems:
        message = listing(f"{spec.cluster} must not be created:", problems)
        own.update(runs, spec.cluster, run_id, lambda r: replace(r, status="failed", step=message, finished_at=now))
        raise PreflightFailed(message)
    in_use = {arn: plan.in_use for arn, plan in facts.plans.items() if plan is not None}

    def write(current: Run) -> Run:
        # InUse from before the first node: a later run must not count the cluster's own nodes as somebody else's.
        before = current.plan_in_use_before if cluster is not None and current.plan_in_use_before else in_use
        return replace(
            current,
            plan_in_use_before=before,
            expected_usd_per_hour=expected_usd_per_hour(spec),
            step="preflight passed",
            unrehearsed=str(unrehearsed or ""),
        )

    run = own.update(runs, spec.cluster, run_id, write)
    outbox.tell(_started(run, spec, going_on=cluster is not None))
    return {"status": "passed", "problems": []}


def _forget(run: Run) -> Run:
    return replace(
        run, stages=(), sightings=(), proven=(), capacity=None, history=(), plan_in_use_before={}, cluster_arn=""
    )


def _gather(surroundings: Surroundings, spec: ClusterSpec) -> PreflightFacts:
    unread: dict[str, str] = {}

    def each(keys: Iterable[str], ask: Callable[[str], T]) -> dict[str, T | None]:
        found: dict[str, T | None] = {}
        for key in keys:
            try:
                found[key] = ask(key)
            except NotFound:
                found[key] = None
            except AwsFailure as failure:
                unread[key] = f"{type(failure).__name__}: {failure}"
        return found

    account = each(["account"], lambda _: surroundings.account_id())
    quotas = each([f"quota {name}" for name in quotas_needed(spec)], lambda key: surroundings.quota(key[6:]))
    scripts = each(scripts_needed(spec), surroundings.object_exists)
    return PreflightFacts(
        account_id=account.get("account"),
        subnet_az_ids=each(spec.subnet_ids, surroundings.subnet_az_id),
        file_system_az_ids=each(spec.file_system_ids, surroundings.file_system_az_id),
        plans=each(plans_needed(spec), surroundings.plan),
        quotas={key[6:]: value for key, value in quotas.items()},
        scripts={uri: bool(there) for uri, there in scripts.items()},
        unread=unread,
    )


def _look_for_rehearsals(
    surroundings: Surroundings, rehearsals: RehearsalStore, spec: ClusterSpec, now: datetime
) -> tuple[dict[str, str | None], dict[str, str]]:
    """Why each script is not proved by a rehearsal of the very files that are there now; and what could not be read."""
    unproved: dict[str, str | None] = {}
    unread: dict[str, str] = {}
    newest = rehearsals.newest()
    for scripts in scripts_of(spec):
        try:
            files = tuple(surroundings.lifecycle_files(scripts.s3_uri))
            content = digest(scripts, files)
        except BadInput as wrong:
            unproved[str(scripts)] = str(wrong)
        except AwsFailure as failure:
            unread[rehearsal_key(scripts)] = f"{type(failure).__name__}: {failure}"
        else:
            known, max_age_s = rehearsals.of_digest(content), spec.rehearsal.max_age_s
            unproved[str(scripts)] = proof(scripts, content, files, known, newest, now, max_age_s)
    return unproved, unread


def _started(run: Run, spec: ClusterSpec, *, going_on: bool) -> Any:
    groups = {g.name: f"{g.count} × {g.instance_type}, {g.discount.kind.value.replace('_', ' ')}" for g in spec.groups}
    if run.unrehearsed:
        groups["Lifecycle scripts"] = f"NOT rehearsed: {run.unrehearsed}"
    title = f"{'Going on with' if going_on else 'Creating'} {spec.cluster}"
    text = f"Discounted nodes first, then in stages; {run.expected_usd_per_hour:,.2f} USD an hour when complete."
    return words.run_notice(run, NoticeKind.RUN_STARTED, "start", title, text, groups)
