"""What was said in Slack, as plain text: threads with the clicks among the messages, and the breaker's episodes. Pure.

Slack's clock is the wall clock; the house's clock says which virtual time that was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from roundhouse.line.incident import Incident
from simulator.clock import VirtualClock
from simulator.demo.report.data import CallView, EpisodeView, SlackLine

Json = dict[str, Any]
_OPENED, _CLOSED = "breaker-opened:", "breaker-closed:"
_LABELLED = re.compile(r"<[^<>|]+\|([^<>]*)>")  # <url|label>, <@user|name>
_BARE = re.compile(r"<([@#!]?[^<>|]+)>")


def threads(
    messages: Sequence[Json], deliveries: Iterable[Json], clock: VirtualClock
) -> tuple[tuple[SlackLine, ...], ...]:
    """Conversations, oldest first. A click stands in the thread of the message that it was on."""
    roots = {str(m["ts"]): str(m.get("thread_ts") or m["ts"]) for m in messages}
    found: dict[str, list[SlackLine]] = {}
    for message in messages:
        root = roots[str(message["ts"])]
        kind = "private" if message.get("visible_to") else "message" if root == str(message["ts"]) else "reply"
        who = str((message.get("bot_profile") or {}).get("name") or message.get("username") or message.get("user", ""))
        if message.get("visible_to"):
            who += f" to {message['visible_to']} alone"
        line = SlackLine(virtual(clock, float(message["ts"])), who, as_text(str(message["text"])), kind)
        found.setdefault(root, []).append(line)
    for delivery in deliveries:
        about = delivery.get("about") or {}
        root = roots.get(str(about.get("message_ts")), "")
        if delivery["kind"] == "block_actions" and root:
            text = f"clicks {about.get('action_id')}: answered {delivery['status']} in {delivery['elapsed']:.2f} s"
            line = SlackLine(virtual(clock, float(delivery["sent_at"])), str(about.get("user")), text, "click")
            found[root].append(line)
    return tuple(tuple(sorted(lines, key=lambda line: line.at)) for _, lines in sorted(found.items(), key=_age))


def episodes(
    messages: Sequence[Json],
    incidents: Sequence[Incident],
    calls: Sequence[CallView],
    clock: VirtualClock,
    now: datetime,
) -> tuple[EpisodeView, ...]:
    """Each time the breaker opened, until it closed. A node is in trouble when an incident of it was open then."""
    told = [(_notice(message), message) for message in messages]
    found = []
    for notice, message in told:
        if not notice.startswith(_OPENED):
            continue
        cluster, opened = _subject(notice, _OPENED)
        ends = [_subject(n, _CLOSED) for n, _ in told if n.startswith(_CLOSED)]
        closed = min((at for name, at in ends if name == cluster and at >= opened), default=None)
        until = closed or now
        troubled = {
            i.instance_id
            for i in incidents
            if i.cluster == cluster and i.slurm_name and i.opened_at <= until and (i.closed_at or now) >= opened
        }
        meanwhile = [c for c in calls if c.cluster == cluster and opened <= c.at <= until]
        loud = [
            m for m in messages if not m.get("thread_ts") or m["thread_ts"] == m["ts"] or m.get("subtype")
        ]  # what the channel shows; the rest is inside a thread
        spoken = sum(opened <= virtual(clock, float(m["ts"])) <= until for m in loud)
        reason = as_text(str(message["text"])).partition("\n")[2]
        found.append(EpisodeView(cluster, opened, closed, reason, len(troubled), len(meanwhile), spoken))
    return tuple(found)


def stopped(messages: Iterable[Json], run_id: str, clock: VirtualClock) -> tuple[datetime, str, str] | None:
    """(when, verdict, reason) of the ramp's stop, as told in its thread: a rolled-back run keeps no record of it."""
    for message in messages:
        title, _, reason = as_text(str(message["text"])).partition("\n")
        verdict = re.search(r"stopped: discount (LOST|UNKNOWN)", title)
        if verdict and _notice(message).startswith(f"run_stopped:{run_id}:"):
            return virtual(clock, float(message["ts"])), verdict.group(1), reason
    return None


def virtual(clock: VirtualClock, real: float) -> datetime:
    """Virtual time of a wall-clock Unix time."""
    return datetime.fromtimestamp(clock.origin + (real - clock.origin) * clock.scale, UTC)


def as_text(mrkdwn: str) -> str:
    """Slack's text as a person reads it: links and mentions by their names, its three entities undone."""
    plain = _BARE.sub(r"\1", _LABELLED.sub(r"\1", mrkdwn))
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


def _notice(message: Json) -> str:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return str(payload.get("notice_id", ""))


def _subject(notice: str, prefix: str) -> tuple[str, datetime]:
    cluster, _, at = notice.removeprefix(prefix).partition(":")
    return cluster, datetime.fromisoformat(at)


def _age(thread: tuple[str, list[SlackLine]]) -> float:
    return float(thread[0])
