"""What a button of ours carries, so that a click can be understood. Version 1. Standard library only.

A button's action id is its choice; its value names approval, choice and instance. It never holds a task token: who can
read or forge a click still cannot answer a state machine.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from roundhouse.errors import MalformedEvent

VERSION = 1
MAX_VALUE = 2000  # characters of a button's value (Block Kit reference)
CHOICES = ("approve", "deny", "roll_back", "hold", "accept")

# Metadata of each message of ours: {"event_type": METADATA_EVENT, "event_payload": {"notice_id": …}}
METADATA_EVENT = "roundhouse_notice"

EVIDENCE = "Evidence"  # fact label: raw text from machines, drawn as it is

_BARE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")


@dataclass(frozen=True, slots=True)
class ButtonValue:
    """The value of one button. `instance_id` is what the question was about when it was drawn."""

    approval_id: str
    choice: str
    instance_id: str | None = None

    def to_text(self) -> str:
        """JSON in ASCII, at most 2000 characters. Raises MalformedEvent for what no button can carry."""
        if self.choice not in CHOICES:
            raise MalformedEvent(f"choice {self.choice!r} is none of {', '.join(CHOICES)} (contracts/slack.py)")
        text = json.dumps(
            {"v": VERSION, "approval": self.approval_id, "choice": self.choice, "instance": self.instance_id},
            separators=(",", ":"),
        )
        if len(text) > MAX_VALUE:
            raise MalformedEvent(f"button value of {len(text)} characters, {MAX_VALUE} are allowed: shorten the ids")
        return text

    @classmethod
    def from_text(cls, text: str, action_id: str) -> ButtonValue:
        """The value of a clicked button. A bare approval id is taken too: the action id is its choice then.

        Raises MalformedEvent when it is neither, or when value and action id differ."""
        if _BARE_ID.fullmatch(text) and action_id in CHOICES:
            return cls(text, action_id)
        try:
            raw = json.loads(text)
            version, approval_id, choice, instance_id = raw["v"], raw["approval"], raw["choice"], raw["instance"]
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise MalformedEvent(f"not the value of a button of ours: {error!r} in {text[:200]!r}") from error
        if version != VERSION:
            raise MalformedEvent(f"button value version {version!r}: version {VERSION} is understood")
        if not isinstance(approval_id, str) or not approval_id or choice != action_id or choice not in CHOICES:
            raise MalformedEvent(f"button value {text[:200]!r} does not fit action id {action_id!r}")
        if instance_id is not None and not isinstance(instance_id, str):
            raise MalformedEvent(f"button value {text[:200]!r}: instance is neither text nor null")
        return cls(approval_id, choice, instance_id)
