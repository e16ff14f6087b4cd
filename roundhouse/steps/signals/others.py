"""Others who act on the cluster: the breaker counts their calls, and people hear of a second remediator. Ports only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.line import remediators
from roundhouse.line.breaker import BreakerEntry
from roundhouse.line.event import Event, Source
from roundhouse.line.incident import Incident, locate
from roundhouse.line.incident.told import CHANGES_NODE
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster
from roundhouse.ports import BreakerStore, Outbox
from roundhouse.steps import guard


def counted(
    event: Event, cluster: Cluster | None, *, breaker: BreakerStore, outbox: Outbox, policy: Policy, now: datetime
) -> None:
    """A call that takes a node away from its users is counted by the breaker, once a node, whoever made it."""
    located = locate(event, cluster)
    if event.source is not Source.CLOUDTRAIL or event.proposed_action not in CHANGES_NODE or not located.instance_id:
        return
    known = guard.load(breaker, policy.cluster)
    if known is not None and any(e.kind == "theirs" and e.instance_id == located.instance_id for e in known.entries):
        return
    entry = BreakerEntry(event.source_time, "theirs", located.instance_id, located.group or "", event.cause.value)
    guard.note(breaker, outbox, policy, entry, cluster, now)


def told(incidents: Sequence[Incident], *, outbox: Outbox, policy: Policy, now: datetime) -> None:
    """Tell people, once a day, when somebody else repairs the same nodes: two remediators undo each other's work."""
    at_work = remediators.at_work(incidents, now)
    if not at_work:
        return
    names = {name for acts in at_work.values() for name, _ in acts}
    outbox.tell(
        Notice(
            notice_id=f"remediator:{policy.cluster}:{now:%Y-%m-%d}",
            thread=f"remediator:{policy.cluster}",
            kind=NoticeKind.ANOTHER_REMEDIATOR,
            title=f"Another remediator is at work on {policy.cluster}",
            text=(
                f"Within 24 h {', '.join(sorted(names))} acted on {len(at_work)} nodes with incidents of Roundhouse. "
                "Two remediators undo each other's work: pause one of them."
            ),
            facts={
                "Who": ", ".join(sorted(names)),
                "What": remediators.in_words(at_work),
                "Pause this one": 'roundhouse pause -e NAME --why "another remediator is at work"',
            },
            broadcast=True,
        )
    )
