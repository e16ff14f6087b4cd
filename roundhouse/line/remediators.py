"""Other remediators: people and programs that act on the nodes of our incidents. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from roundhouse.line.incident import Incident
from roundhouse.line.incident.told import CHANGES_NODE

MANY = 3  # a person mends a node now and then; on so many within a day it is a second remediator
WITHIN = timedelta(hours=24)
_SHOWN = 10
Acts = Mapping[str, Sequence[tuple[str, str]]]


def at_work(incidents: Sequence[Incident], now: datetime) -> Acts:
    """Instance → (who, call) of the last day, once there are `MANY` instances; empty below. HyperPod's own repairs and
    our own calls are in no incident's `others`."""
    found: dict[str, list[tuple[str, str]]] = {}
    for incident in incidents:
        acts = [(o.who, o.call) for o in incident.others if o.kind in CHANGES_NODE and now - o.at < WITHIN]
        if acts and incident.instance_id.startswith("i-"):
            found.setdefault(incident.instance_id, []).extend(acts)
    return found if len(found) >= MANY else {}


def in_words(acts: Acts) -> str:
    """`i-0a: BatchReplaceClusterNodes by kim (Admin); …`, the first ones."""
    lines = [f"{instance}: {calls[-1][1]} by {calls[-1][0]}" for instance, calls in sorted(acts.items())]
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more
