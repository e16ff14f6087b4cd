"""One run of the reconciler: compare, mend, tell. Ports only."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import RoundhouseError
from roundhouse.line.policy import Policy
from roundhouse.line.reconcile import Difference, Facts, Kind, Remedy, compare
from roundhouse.steps.reconcile.gather import Reading
from roundhouse.steps.reconcile.mend import Mender

logger = logging.getLogger(__name__)
MOST_TOLD = 15
# Also told where it is mended: people should know that HyperPod took a call and did nothing.
TOLD = {Kind.NO_EFFECT}


def reconcile(reading: Reading, mender: Mender, now: datetime) -> dict[str, Any]:
    """What differed and what became of it: `mended`, `shown` (only people can), `left` (paused, or nothing left to do)
    and `failed`, each a list of `{kind, subject, words, remedy}`; `unread` names what could not be read.

    One that fails does not keep the others from being mended. The first failure is raised at the end.
    """
    facts = reading.facts(now)
    said: dict[str, list[dict[str, str]]] = {"mended": [], "shown": [], "left": [], "failed": []}
    told: list[Difference] = []
    failures: list[RoundhouseError] = []
    for found in compare(facts):
        if found.remedy is Remedy.SHOW or found.kind in TOLD:
            told.append(found)
        try:
            end = _end(found, facts, mender)
        except RoundhouseError as failure:
            end = "failed"
            failures.append(failure)
            logger.exception("reconciler: %s of %s failed", found.remedy.value, found.subject)
        logger.info("reconciler: %s: %s: %s (%s)", end, found.kind.value, found.words, found.remedy.value)
        said[end].append(plain(found))
    if told:
        mender.outbox.tell(notice(told, reading.policy, now))
    if failures:
        raise failures[0]
    unread = [name for name, fact in (("HyperPod", facts.cluster), ("breaker", facts.breaker)) if fact is None]
    return {**said, "unread": [*unread, *facts.unread], "paused": facts.pause is not None}


def _end(found: Difference, facts: Facts, mender: Mender) -> str:
    if found.remedy is Remedy.SHOW:
        return "shown"
    if facts.pause is not None and found.remedy.begins:
        return "left"
    return "mended" if mender.mend(found, facts) else "left"


def plain(found: Difference) -> dict[str, str]:
    """A difference as JSON-ready members."""
    return {
        "kind": found.kind.value,
        "subject": found.subject,
        "words": found.words,
        "remedy": found.remedy.value,
    }


def notice(told: Sequence[Difference], policy: Policy, now: datetime) -> Notice:
    """What only people can mend, in one message: the same differences are told once a day."""
    content = "\n".join(sorted(f"{each.kind.value} {each.subject}" for each in told))
    digest = sha256(content.encode()).hexdigest()[:16]
    lines = [f"• {each.words}" for each in told[:MOST_TOLD]]
    if len(told) > MOST_TOLD:
        lines.append(f"• and {len(told) - MOST_TOLD} more: `roundhouse reconcile -e {policy.environment}` lists them")
    many = "One difference" if len(told) == 1 else f"{len(told)} differences"
    return Notice(
        notice_id=f"reconcile:{policy.cluster}:{now:%Y-%m-%d}:{digest}",
        thread=f"reconcile:{policy.cluster}:{now:%Y-%m-%d}",
        kind=NoticeKind.DIFFERENCES,
        title=f"{many} of {policy.cluster} that only people can mend",
        text="\n".join(lines),
        broadcast=True,
    )
