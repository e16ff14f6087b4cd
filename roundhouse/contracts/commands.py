"""Commands for the controller agent, sent over the agent queue. Version 1. Standard library only.

A closed list of verbs; a command is for one cluster and, where it names a node, for one instance: the agent refuses
a command whose instance is no longer behind that Slurm name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from roundhouse.errors import MalformedEvent

VERSION = 1
REASON_PREFIX = "roundhouse:"  # our own drains carry it; a reason set by anybody else is never touched


class Verb(StrEnum):
    CORDON = "cordon"  # drain: running jobs may end until the deadline, nothing new starts; never over another's drain
    RESUME = "resume"  # undo the drain of the same incident, and only that


def owner(reason: str) -> str | None:
    """The incident that a drain belongs to, by its Slurm reason; None when it is not ours.

    >>> owner("roundhouse: inc-46f4-1 NvidiaErrorTerminate"), owner("fan broken, ticket 42")
    ('inc-46f4-1', None)
    """
    prefix, _, rest = reason.partition(" ")
    return rest.partition(" ")[0] or None if prefix == REASON_PREFIX else None


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `deadline` is when running jobs may be ended (CORDON). `reason` begins with `REASON_PREFIX`."""

    command_id: str
    cluster: str
    verb: Verb
    instance_id: str
    slurm_name: str | None
    reason: str
    issued_at: datetime
    deadline: datetime | None = None

    def to_json(self) -> str:
        """The message body: one JSON object."""
        return json.dumps(
            {
                "version": VERSION,
                "command_id": self.command_id,
                "cluster": self.cluster,
                "verb": self.verb.value,
                "instance_id": self.instance_id,
                "slurm_name": self.slurm_name,
                "reason": self.reason,
                "issued_at": self.issued_at.isoformat(),
                "deadline": self.deadline.isoformat() if self.deadline else None,
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, body: str) -> Command:
        """The command in `body`. Raises MalformedEvent for anything that is not a version 1 command."""
        try:
            raw = json.loads(body)
            if raw["version"] != VERSION:
                raise MalformedEvent(f"command version {raw['version']!r}: this agent understands version {VERSION}")
            return cls(
                command_id=raw["command_id"],
                cluster=raw["cluster"],
                verb=Verb(raw["verb"]),
                instance_id=raw["instance_id"],
                slurm_name=raw["slurm_name"],
                reason=raw["reason"],
                issued_at=datetime.fromisoformat(raw["issued_at"]),
                deadline=datetime.fromisoformat(raw["deadline"]) if raw["deadline"] else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedEvent(f"not an agent command: {error!r} in {body[:200]!r}") from error
