"""What people are told about rehearsals: notices in plain words. Pure."""

from __future__ import annotations

from datetime import datetime

from roundhouse.build.rehearsal import Rehearsal, Result
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.steps.words import duration

LIMITS = "What only a GPU node or a compute node runs was not tried."


def thread(rehearsal_id: str) -> str:
    """Thread key of a rehearsal."""
    return f"rehearsal:{rehearsal_id}"


def started(rehearsal: Rehearsal, by: str) -> Notice:
    """The throw-away cluster is about to be made."""
    return _notice(
        rehearsal,
        NoticeKind.RUN_STARTED,
        "start",
        f"Rehearsing the lifecycle scripts of {rehearsal.environment}",
        f"On {rehearsal.cluster}, one {rehearsal.instance_type}, deleted afterwards whatever happens.",
        {
            "Scripts": str(rehearsal.scripts),
            "Files": str(len(rehearsal.files)),
            "Digest": rehearsal.digest[:12],
            **({"By": by} if by else {}),
        },
    )


def ended(rehearsal: Rehearsal) -> Notice:
    """The result, and where to read what the scripts said."""
    result = rehearsal.result or Result.INCONCLUSIVE
    passed = result is Result.PASSED
    facts = {"Scripts": str(rehearsal.scripts), "Digest": rehearsal.digest[:12] or "none"}
    if rehearsal.log_group:
        facts["Log group"] = rehearsal.log_group
    if rehearsal.log_stream:
        facts["Log stream"] = rehearsal.log_stream
    if rehearsal.ended_at:
        facts["Took"] = duration(rehearsal.ended_at - rehearsal.started_at)
    return _notice(
        rehearsal,
        NoticeKind.RUN_FINISHED if passed else NoticeKind.RUN_STOPPED,
        "end",
        f"Lifecycle scripts of {rehearsal.environment}: rehearsal {result.value}",
        f"{rehearsal.reason}. {LIMITS}" if passed else rehearsal.reason,
        facts,
    )


def not_ours(rehearsal: Rehearsal, why: str) -> Notice:
    """Something stands under the throw-away cluster's name that is not provably ours."""
    title = f"A cluster called {rehearsal.cluster} was left alone"
    return _notice(rehearsal, NoticeKind.RUN_STOPPED, "not-ours", title, why, {})


def left_over(cluster: str, rehearsal_id: str, since: datetime, now: datetime) -> Notice:
    """A throw-away cluster still stands and costs money; told once a day."""
    return Notice(
        notice_id=f"rehearsal-left:{rehearsal_id}:{cluster}:{now:%Y-%m-%d}",
        thread=thread(rehearsal_id),
        kind=NoticeKind.RUN_STOPPED,
        title=f"Throw-away cluster {cluster} still stands",
        text=f"It was to be deleted since {since:%Y-%m-%d %H:%M} UTC and costs money. Delete it by hand.",
        broadcast=True,
    )


def _notice(rehearsal: Rehearsal, kind: NoticeKind, key: str, title: str, text: str, facts: dict[str, str]) -> Notice:
    return Notice(
        notice_id=f"rehearsal-{key}:{rehearsal.rehearsal_id}:{rehearsal.scripts}",
        thread=thread(rehearsal.rehearsal_id),
        kind=kind,
        title=title,
        text=text,
        facts=facts,
        broadcast=kind in {NoticeKind.RUN_FINISHED, NoticeKind.RUN_STOPPED},
    )
