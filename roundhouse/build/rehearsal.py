"""A rehearsal: lifecycle scripts run on a throw-away cluster of one CPU node before a real one is made. Pure.

A rehearsal that did not get to an end of the scripts is INCONCLUSIVE, never passed. One whose scripts failed once and
then went well has failed: what fails now and then fails on some of 64 nodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from roundhouse.build.scripts import ScriptFile, Scripts, differences
from roundhouse.build.spec import ClusterSpec, Discount, DiscountKind, GroupSpec
from roundhouse.contracts import names
from roundhouse.line.state import Cluster, ClusterEvent, Node, NodeStatus

TAG = "roundhouse:rehearsal"  # the environment that a throw-away cluster belongs to
TAG_ID = "roundhouse:rehearsal-id"  # the rehearsal that made it
REASON_LEAST = 10  # characters of a reason for going without
STALE = timedelta(minutes=30)  # no step looked at it for so long: its execution has ended without saying so
_LONGEST_NAME, _MOST_TAGS = 63, 50
_SOME = "a node"  # an event that names no instance; there is only one
_SCRIPTS_FAILED = re.compile(r"lifecycle", re.IGNORECASE)


class Result(StrEnum):
    """How a rehearsal ended."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One rehearsal. `result` is None until it is known, `ended_at` until the throw-away cluster is gone.

    `rehearsal_id` names the execution; one of several scripts is rehearsed after the other under the same id.
    `looked_at` is when a step of it last said that it lives. `log_stream` is where the scripts' output is.
    """

    environment: str
    rehearsal_id: str
    scripts: Scripts
    digest: str
    files: tuple[ScriptFile, ...]
    cluster: str
    instance_type: str
    started_at: datetime
    looked_at: datetime
    result: Result | None = None
    reason: str = ""
    cluster_arn: str = ""
    log_stream: str = ""
    ended_at: datetime | None = None
    version: int = 0

    @property
    def under_way(self) -> bool:
        """True while its throw-away cluster may stand."""
        return self.ended_at is None

    def abandoned(self, now: datetime) -> bool:
        """True when it is under way and nothing takes care of it any more."""
        return self.under_way and now - self.looked_at > STALE

    @property
    def log_group(self) -> str:
        """The throw-away cluster's log group; it outlives the cluster. "" while its ARN is not known."""
        return names.log_group(self.cluster, self.cluster_arn) if self.cluster_arn else ""


@dataclass(frozen=True, slots=True)
class Unrehearsed:
    """Somebody's reason for creating a cluster without a rehearsal."""

    why: str
    by: str

    def __str__(self) -> str:
        return f"{self.why} ({self.by})"


def cluster_name(cluster: str, digest: str) -> str:
    """Name of the throw-away cluster: the same for the same content.

    >>> cluster_name("train-demo", "0123456789abcdef")
    'train-demo-rehearsal-01234567'
    """
    tail = f"-rehearsal-{digest[:8]}"
    return cluster[: _LONGEST_NAME - len(tail)].rstrip("-") + tail


def rehearsal_spec(spec: ClusterSpec, rehearsal: Rehearsal) -> ClusterSpec:
    """The throw-away cluster: one controller, with the role, network, storage and scripts of the real one.

    The group is called as the real controller's is, since scripts go by names. Nothing repairs it, nothing pays for it.
    """
    controller = next(group for group in spec.groups if group.role == "Controller")
    like = next(
        group
        for group in spec.groups
        if Scripts(group.lifecycle_s3_uri.rstrip("/"), group.lifecycle_script) == rehearsal.scripts
    )
    group = GroupSpec(
        name=controller.name,
        role="Controller",
        instance_type=rehearsal.instance_type,
        count=1,
        stages=(1.0,),
        discount=Discount(DiscountKind.NONE),
        on_demand_usd_per_hour=0.0,
        execution_role_arn=like.execution_role_arn,
        lifecycle_s3_uri=like.lifecycle_s3_uri,
        lifecycle_script=like.lifecycle_script,
        ebs_gib=like.ebs_gib,
    )
    kept = tuple((key, value) for key, value in spec.tags if key not in {TAG, TAG_ID})
    tags = (*kept[: _MOST_TAGS - 2], (TAG, spec.environment), (TAG_ID, rehearsal.rehearsal_id))
    return replace(spec, cluster=rehearsal.cluster, groups=(group,), node_recovery="None", tags=tags)


@dataclass(frozen=True, slots=True)
class Judgement:
    """`result` None: wait. `reason` in words; `instance_id` is the node that it is about."""

    result: Result | None
    reason: str
    instance_id: str | None = None


def judge(
    rehearsal: Rehearsal,
    cluster: Cluster | None,
    events: Sequence[ClusterEvent] | None,
    now: datetime,
    timeout_s: int,
) -> Judgement:
    """What the throw-away cluster shows. `events` is None where the service keeps none (legacy provisioning).

    Only a node that is Running, whose scripts are said to have succeeded, is a pass; a legacy cluster, which has no
    events, is in service only when its scripts ended well on every node.
    """
    late = now - rehearsal.started_at >= timedelta(seconds=timeout_s)
    if cluster is None:
        return Judgement(Result.INCONCLUSIVE if late else None, "the throw-away cluster is not there")
    states = _script_states(events or ())
    node = next(iter(cluster.nodes), None)
    shown = node.instance_id if node else None
    failed = next((state for state in states if state[1] == "failed"), None)
    if failed is not None:
        return Judgement(Result.FAILED, f"the lifecycle script failed on {failed[0]}", failed[0])
    if cluster.status in {"Failed", "RollingBack"}:
        said = cluster.failure or _message(cluster) or "no reason was given"
        result = Result.FAILED if _SCRIPTS_FAILED.search(said) else Result.INCONCLUSIVE
        return Judgement(result, f"the throw-away cluster is {cluster.status}: {said}", shown)
    if _ready(cluster, node):
        if events is None:
            return Judgement(Result.PASSED, "the legacy cluster is in service: its scripts ended well", shown)
        if any(state in {(shown, "succeeded"), (_SOME, "succeeded")} for state in states):
            return Judgement(Result.PASSED, f"the scripts ran to their end on {shown}", shown)
        waiting = "the node runs, and no event says that its scripts ended"
        return Judgement(Result.INCONCLUSIVE if late else None, waiting, shown)
    if not late:
        return Judgement(None, f"the throw-away cluster is {cluster.status}", shown)
    took = timedelta(seconds=timeout_s)
    begun = next((state[0] for state in states if state[1] == "started"), None)
    if begun is not None:
        return Judgement(Result.FAILED, f"the lifecycle script on {begun} began and did not end within {took}", begun)
    said = _message(cluster) or f"the cluster is {cluster.status}"
    return Judgement(Result.INCONCLUSIVE, f"no lifecycle script began within {took}: {said}", shown)


def _ready(cluster: Cluster, node: Node | None) -> bool:
    return cluster.status == "InService" and node is not None and node.status is NodeStatus.RUNNING


def _message(cluster: Cluster) -> str:
    return next((node.message for node in cluster.nodes if node.message), "")


def _script_states(events: Sequence[ClusterEvent]) -> list[tuple[str, str]]:
    """(instance id, started | succeeded | failed) of each event about a lifecycle script, oldest first.

    The state's words are not documented, so they are read loosely: from the metadata, else from the description.
    """
    found: list[tuple[str, str]] = []
    for event in sorted(events, key=lambda each: each.at):
        if event.lifecycle_state is None and "lifecycle script" not in event.description.lower():
            continue
        said = (event.lifecycle_state or event.description).lower()
        words = {"fail": "failed", "timed": "failed", "succe": "succeeded", "complet": "succeeded", "start": "started"}
        state = next((meaning for word, meaning in words.items() if word in said), None)
        if state is not None:
            found.append((event.instance_id or _SOME, state))
    return found


def proof(
    scripts: Scripts,
    digest: str,
    files: Sequence[ScriptFile],
    known: Rehearsal | None,
    newest: Rehearsal | None,
    now: datetime,
    max_age_s: int,
) -> str | None:
    """Why these scripts are not proved by a rehearsal, in words; None when they are.

    `known` is the rehearsal kept for `digest`, `newest` the environment's last one of any content.
    """
    if known is not None and known.result is Result.PASSED:
        age = now - known.started_at
        if age <= timedelta(seconds=max_age_s):
            return None
        return f"their rehearsal passed {age.days} days ago, older than the {max_age_s // 86400} days that count"
    if newest is not None and newest.under_way and newest.digest == digest:
        return f"their rehearsal {newest.rehearsal_id} is still under way"
    if known is not None and known.result is not None:
        return f"their rehearsal was {known.result.value} on {known.started_at:%Y-%m-%d %H:%M} UTC: {known.reason}"
    if newest is not None and newest.digest and newest.scripts == scripts:
        changed = differences(newest.files, files)
        when = f"{newest.started_at:%Y-%m-%d %H:%M} UTC"
        return f"they are not what was last rehearsed ({when}, {newest.result or 'under way'}): {changed}"
    return "they have never been rehearsed as they are now"
