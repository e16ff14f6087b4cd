"""What people are told about a Health event: one message for the event, not one for each node. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.line.policy import Mode
from roundhouse.line.state import Cluster, Node
from roundhouse.triage.maintenance import Maintenance

SHOWN = 20  # nodes named in a message; all of them are incidents
_PLAN = {
    Mode.OBSERVE: "The policy says observe: nothing is drained.",
    Mode.ASK: "You are asked for each node when its drain is due.",
    Mode.ACT: "Each node is drained before its window, proved after it, and then goes back.",
}


def thread(record: Maintenance) -> str:
    """Thread key of a Health event."""
    return f"maintenance:{record.key}"


def announced(record: Maintenance, cluster: Cluster, nodes: Sequence[Node], mode: Mode, *, ended: bool) -> Notice:
    """The message for the event as it stands. Its id names window and state, then how many nodes are known: a message
    that only knows more nodes has the same id up to the last colon, and takes the other's place."""
    change = record.change
    starts = change.starts.isoformat() if change.starts else ""
    ends = change.ends.isoformat() if change.ends else ""
    state = hashlib.sha256(f"{starts}\n{ends}\n{ended}".encode()).hexdigest()[:8]
    window = f"{change.starts:%d %b %H:%M} UTC" if change.starts else "not given"
    until = f" to {change.ends:%d %b %H:%M} UTC" if change.ends else ", no end given"
    facts = {
        "Cluster": cluster.name,
        "Window": window + (until if change.starts else ""),
        "Event": change.event_arn,
    }
    if nodes:
        shown = [f"{_name(node)} ({node.instance_id}, {cluster.role(node.group)})" for node in nodes[:SHOWN]]
        more = [f"and {len(nodes) - SHOWN} more"] if len(nodes) > SHOWN else []
        facts["Nodes"] = "\n".join([*shown, *more])
    if change.missing_pages:
        facts["Not complete"] = f"{len(change.missing_pages)} pages of the message have not come yet"
    title, text = _said(record, cluster, nodes, mode, ended)
    return Notice(
        notice_id=f"{thread(record)}:{state}:{len(nodes)}",
        thread=thread(record),
        kind=NoticeKind.MAINTENANCE,
        title=title,
        text=text,
        facts=facts,
        broadcast=True,
    )


def _said(record: Maintenance, cluster: Cluster, nodes: Sequence[Node], mode: Mode, ended: bool) -> tuple[str, str]:
    code = record.change.code
    if ended:
        return f"AWS has called off {code}", "No window is ahead of a node any more. What we have drained goes back."
    if nodes:
        many = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
        if record.change.starts is None:
            return f"AWS plans work on {many} of {cluster.name}: {code}", "When is not said. Nothing is drained."
        return f"AWS plans work on {many} of {cluster.name}: {code}", _PLAN[mode]
    who = "the cluster as a whole" if record.change.entities else "instances that it does not name"
    return (
        f"AWS plans work on {who}: {code}",
        "Nothing is drained: which nodes it is about is not known. Look at the event in the Health console.",
    )


def _name(node: Node) -> str:
    return node.hostname.split(".")[0] if node.hostname else node.logical_id or "node"
