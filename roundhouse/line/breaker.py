"""The circuit breaker: persistent and wide. Pure: state in, verdict and new state out.

It counts everything that takes nodes away: our drains, reboots and replacements, and HyperPod's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from roundhouse.line.policy import BreakerLimits


class BreakerStatus(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"  # one canary is under way


@dataclass(frozen=True, slots=True)
class BreakerEntry:
    """One counted thing: an action (`reboot`, `replace`, `delete_restore`, `drain`, `theirs`) or a `signal`.

    `theirs` is a repair that HyperPod does by itself; `signal` is an incident opened, counted by the systemic detector.
    """

    at: datetime
    kind: str
    instance_id: str
    group: str
    cause: str


@dataclass(frozen=True, slots=True)
class BreakerState:
    """What is remembered: entries of the last 24 hours, status, and since when. `version` is the optimistic lock."""

    status: BreakerStatus = BreakerStatus.CLOSED
    since: datetime | None = None
    reason: str = ""
    canary: str | None = None  # instance id of the half-open canary
    announced: bool = False  # the one Slack message of this opening is on its way
    entries: tuple[BreakerEntry, ...] = ()
    version: int = 0


# What takes a node away from its users; `signal` entries are only looked at by the systemic detector.
TAKING = frozenset({"reboot", "replace", "delete_restore", "drain", "theirs"})
MEMORY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Admission:
    """May this action go ahead? `opened_now` is True exactly once an opening: that is when people are told."""

    allowed: bool
    reason: str
    opened_now: bool = False


def admit(
    state: BreakerState,
    entry: BreakerEntry,
    limits: BreakerLimits,
    group_target: int,
    cluster_target: int,
    now: datetime,
) -> tuple[Admission, BreakerState]:
    """Ask before acting. An allowed action is counted in the new state; a refused one is not.

    A node that was counted already (its drain, say) is not counted again by its replacement. Targets are node counts
    of the entry's group and of the whole cluster; 0 (unknown) leaves one node to every percentage.
    """
    state = _prune(state, now)
    match state.status:
        case BreakerStatus.CLOSED:
            why = _exceeded(state, entry, limits, group_target, cluster_target, now) or _systemic(
                state, limits, cluster_target, now
            )
            if why:
                return Admission(False, f"breaker opened: {why}", opened_now=True), _open(state, why, now)
            return Admission(True, "within the breaker's limits"), _remember(state, entry)
        case BreakerStatus.OPEN:
            since = state.since or now
            if now - since < timedelta(seconds=limits.open_s):
                left = limits.open_s - round((now - since).total_seconds())
                return Admission(False, f"breaker is open: {state.reason}; one canary may pass in {left} s"), state
            canary = replace(state, status=BreakerStatus.HALF_OPEN, since=now, canary=entry.instance_id)
            return Admission(True, "breaker is half open: this node is its one canary"), _remember(canary, entry)
        case BreakerStatus.HALF_OPEN:
            if entry.instance_id == state.canary:
                return Admission(True, "breaker is half open: this node is its one canary"), _remember(state, entry)
            patience = timedelta(seconds=max(limits.open_s, limits.hold_expiry_s))
            if state.since is not None and now - state.since >= patience:
                why = f"nothing was heard of canary {state.canary} for {round(patience.total_seconds())} s"
                return Admission(False, f"breaker opened: {why}", opened_now=True), _open(state, why, now)
            return Admission(False, f"breaker is half open: canary {state.canary} is still under way"), state
        case _:
            assert_never(state.status)


def note(
    state: BreakerState,
    entry: BreakerEntry,
    limits: BreakerLimits,
    group_target: int,
    cluster_target: int,
    now: datetime,
) -> tuple[Admission, BreakerState]:
    """Count what happened without asking: HyperPod's own repairs (`theirs`), drains by others, `signal`s.

    It may open the breaker; `allowed` then says whether an action on another node would still pass.
    """
    state = _prune(state, now)
    if state.status is not BreakerStatus.CLOSED:
        return Admission(False, f"breaker is {state.status.value}: {state.reason}"), _remember(state, entry)
    why = _exceeded(state, entry, limits, group_target, cluster_target, now) if entry.kind in TAKING else ""
    state = _remember(state, entry)
    why = why or _systemic(state, limits, cluster_target, now)
    if why:
        return Admission(False, f"breaker opened: {why}", opened_now=True), _open(state, why, now)
    return Admission(True, "within the breaker's limits"), state


def canary_result(state: BreakerState, ok: bool, now: datetime) -> BreakerState:
    """The canary came back proved (closed again) or did not (open again, from now)."""
    if state.status is not BreakerStatus.HALF_OPEN:
        return state
    if ok:
        return replace(state, status=BreakerStatus.CLOSED, since=now, reason="", canary=None, announced=False)
    return _open(state, f"canary {state.canary} did not come back healthy", now)


def recovered(
    state: BreakerState,
    instance_id: str,
    limits: BreakerLimits,
    targets: Mapping[str, int],
    now: datetime,
    cause: str | None = None,
) -> BreakerState:
    """A node is healthy again: always accepted, whatever the state. Its signals (of `cause`, or all) no longer count.

    An open breaker closes by it once none of the signals that it opened upon is left and one more action in any group
    would be within the limits; nodes that never recover keep it open until a canary is proved. `targets` is group →
    node count; while it is unknown (empty) nothing closes.
    """
    state = _prune(state, now)
    kept = tuple(
        e
        for e in state.entries
        if not (e.kind == "signal" and e.instance_id == instance_id and cause in {None, e.cause})
    )
    if kept != state.entries:
        state = replace(state, entries=kept)
    blamed = (state.since or now) - timedelta(seconds=limits.systemic_window_s)
    if not targets or state.status is not BreakerStatus.OPEN or any(e.kind == "signal" and e.at > blamed for e in kept):
        return state
    everyone = sum(targets.values())
    for group, target in targets.items():
        if _exceeded(state, BreakerEntry(now, "drain", "one more", group, ""), limits, target, everyone, now):
            return state
    return replace(state, status=BreakerStatus.CLOSED, since=now, reason="", canary=None, announced=False)


def _open(state: BreakerState, why: str, now: datetime) -> BreakerState:
    return replace(state, status=BreakerStatus.OPEN, since=now, reason=why, canary=None, announced=False)


def _prune(state: BreakerState, now: datetime) -> BreakerState:
    horizon = now - MEMORY
    if all(entry.at > horizon for entry in state.entries):
        return state
    return replace(state, entries=tuple(entry for entry in state.entries if entry.at > horizon))


def _remember(state: BreakerState, entry: BreakerEntry) -> BreakerState:
    return state if entry in state.entries else replace(state, entries=(*state.entries, entry))


def _exceeded(
    state: BreakerState,
    entry: BreakerEntry,
    limits: BreakerLimits,
    group_target: int,
    cluster_target: int,
    now: datetime,
) -> str:
    """Which limit `entry` would break, in words; "" for none. Nodes are counted once however often they are touched."""
    short = now - timedelta(seconds=limits.short_window_s)
    group, mine = entry.group, {entry.instance_id}
    taken = [e for e in state.entries if e.kind in TAKING]
    seen_day = {e.instance_id for e in taken}
    seen_short = {e.instance_id for e in taken if e.at > short}
    seen_group = {e.instance_id for e in taken if e.at > short and e.group == group}
    seen_group_day = {e.instance_id for e in taken if e.group == group}
    if mine <= seen_group:
        return ""  # the node is away already: finishing its repair takes no further node
    minutes = round(limits.short_window_s / 60)
    checks = (
        (seen_group, limits.group_short_max, f"of group {group} within {minutes} min"),
        (seen_group, _share(limits.short_percent, group_target), _words(limits.short_percent, group, minutes)),
        (seen_short, limits.short_max, f"of the cluster within {minutes} min"),
        (seen_short, _share(limits.short_percent, cluster_target), _words(limits.short_percent, "", minutes)),
        (seen_day, limits.day_max, "of the cluster within 24 h"),
        (seen_day, _share(limits.day_percent, cluster_target), _words(limits.day_percent, "", 1440)),
        (seen_group_day, _share(limits.day_percent, group_target), _words(limits.day_percent, group, 1440)),
    )
    for seen, limit, words in checks:
        count = len(seen | mine)
        if count > limit:
            return f"{count} nodes {words} would be more than {limit}"
    return ""


def _share(percent: float, target: int) -> int:
    return max(1, int(percent * target / 100))


def _words(percent: float, group: str, minutes: int) -> str:
    span = "24 h" if minutes == 1440 else f"{minutes} min"
    return f"within {span}, where {percent:g} % of {f'group {group}' if group else 'the cluster'} is the limit,"


def _systemic(state: BreakerState, limits: BreakerLimits, cluster_target: int, now: datetime) -> str:
    """Why the signals look like one fault of the network, or of a change, and not of many nodes; "" if they do not."""
    since = now - timedelta(seconds=limits.systemic_window_s)
    by_cause: dict[str, set[str]] = {}
    for entry in state.entries:
        if entry.kind == "signal" and entry.at > since:
            by_cause.setdefault(entry.cause, set()).add(entry.instance_id)
    minutes = round(limits.systemic_window_s / 60)
    for cause, nodes in sorted(by_cause.items()):
        if len(nodes) >= limits.systemic_nodes:
            return f"{len(nodes)} nodes with cause {cause} within {minutes} min: suspect the network or a change"
    everyone: set[str] = set().union(*by_cause.values()) if by_cause else set()
    if len(everyone) >= 2 and cluster_target and 2 * len(everyone) > cluster_target:
        size = f"more than half of a cluster of {cluster_target}"  # and more than all of it while one is rolled back
        return f"{len(everyone)} nodes in trouble within {minutes} min, {size}: suspect the network"
    return ""
