"""Where a notice goes and whether it has been there already. Pure use of ports.Messenger and ports.ThreadStore.

A notice may arrive any number of times; it is shown once. A crash or a lost answer at any point is made good by the
next delivery: the place is looked up first, then, on a redelivery, Slack itself.
"""

from __future__ import annotations

import logging
from enum import StrEnum

from roundhouse.contracts.notices import Notice
from roundhouse.errors import SlackRejected
from roundhouse.ports import Messenger, ThreadStore

logger = logging.getLogger(__name__)

_GONE = {"message_not_found", "cant_update_message", "edit_window_closed", "is_inactive"}
_THREAD_GONE = {"thread_not_found", "cannot_reply_to_message", "message_not_found"}
# What is wrong with one message, for ever. Other refusals (a revoked token, a bot not in the channel) are about the
# installation: people mend that, and then the message goes through.
_MESSAGE_FAULTS = {
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "msg_too_long",
    "no_text",
    "invalid_arguments",
    "invalid_metadata_format",
    "invalid_metadata_schema",
    "metadata_too_large",
    "invalid_json",
}


class Delivery(StrEnum):
    """What a delivery did."""

    POSTED = "posted"
    UPDATED = "updated"
    FOUND = "found"  # an earlier try had got through; its answer was lost
    KNOWN = "known"  # nothing to do


def is_message_fault(refusal: SlackRejected) -> bool:
    """Whether this message can never be posted, whatever people do to the installation."""
    return refusal.code in _MESSAGE_FAULTS


def deliver(notice: Notice, messenger: Messenger, threads: ThreadStore, channel: str, attempt: int) -> Delivery:
    """Show `notice` once: redraw what it replaces, else reply in its thread, else open the thread in `channel`.

    `attempt` is how often the notice has been received, from 1. Raises what the messenger raises.
    """
    if threads.place(notice.notice_id) is not None:
        return Delivery.KNOWN
    if notice.replaces is not None and _redraw(notice, notice.replaces, messenger, threads, channel):
        return Delivery.UPDATED
    root = threads.place(notice.thread)
    where, thread_ts = root if root is not None else (channel, None)
    ts = _find(notice.notice_id, messenger, where, thread_ts) if attempt > 1 else None
    found = ts is not None
    if ts is None:
        ts = _post(notice, messenger, where, thread_ts)
    _remember(notice, threads, where, ts)
    return Delivery.FOUND if found else Delivery.POSTED


def _redraw(notice: Notice, target: str, messenger: Messenger, threads: ThreadStore, channel: str) -> bool:
    """Redraw the message of notice `target`; False when there is none (any more)."""
    place = threads.place(target)
    if place is None:
        # It may have been posted all the same: its answer lost, its delivery given up.
        where, thread_ts = threads.place(notice.thread) or (channel, None)
        ts = _find(target, messenger, where, thread_ts)
        if ts is None:
            return False
        place = (where, ts)
    try:
        messenger.update(*place, notice)
    except SlackRejected as refusal:
        if refusal.code not in _GONE:
            raise
        logger.warning("message of notice %s cannot be redrawn, posting anew: %s", target, refusal)
        return False
    _remember(notice, threads, *place)
    return True


def _post(notice: Notice, messenger: Messenger, channel: str, thread_ts: str | None) -> str:
    try:
        return messenger.post(channel, notice, thread_ts)
    except SlackRejected as refusal:
        if thread_ts is None or refusal.code not in _THREAD_GONE:
            raise
        logger.warning("thread %s is gone, posting to the channel: %s", notice.thread, refusal)
        return messenger.post(channel, notice, None)


def _find(notice_id: str, messenger: Messenger, channel: str, thread_ts: str | None) -> str | None:
    try:
        return messenger.find(channel, notice_id, thread_ts)
    except SlackRejected as refusal:
        # Not allowed to read the channel, or the thread was deleted. Two copies of a question carry one approval id,
        # so only one can act: better twice than never.
        logger.warning("cannot look for an earlier copy of notice %s: %s", notice_id, refusal)
        return None


def _remember(notice: Notice, threads: ThreadStore, channel: str, ts: str) -> None:
    # The thread first: once the notice is known, nobody comes back to open its thread. What was replaced is known now
    # too, so that a question that comes after its answer stays away.
    threads.keep(notice.thread, channel, ts)
    if notice.replaces is not None:
        threads.keep(notice.replaces, channel, ts)
    threads.keep(notice.notice_id, channel, ts)
