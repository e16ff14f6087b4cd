"""AWS Health: work on instances is announced, moved and called off, and done when its time comes.

Imports this package's core and state. Health tells it in pages, each once for the region and once as a backup copy.
HyperPod's instances are named here, which nobody has seen Health do (docs/unverified.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from typing import Any

from simulator.hyperpod.core import Core
from simulator.hyperpod.state import Cluster, Node

SOURCE, DETAIL_TYPE = "aws.health", "AWS Health Event"
CODE = "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED"


@dataclass
class Announced:
    """One Health event: what was said last, and how often something was said."""

    starts: datetime | None = None
    entities: list[str] = field(default_factory=list)
    communications: int = 0


class AwsHealth:
    """The events of Health, by the name that a control command gives them."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.events: dict[str, Announced] = {}

    def announce(
        self,
        entities: Sequence[str],
        *,
        event: str = "x1",
        code: str = CODE,
        starts: datetime | None = None,
        ends: datetime | None = None,
        status: str = "upcoming",
        pages: int = 1,
        copies: bool = True,
        effect: str | None = None,
    ) -> dict[str, Any]:
        """Send one communication about `event`. With `effect` 'reboot' the instances restart at `starts`, unless a
        later communication has moved or closed it by then."""
        known = self.events.setdefault(event, Announced())
        known.communications += 1
        known.starts = None if status == "closed" else starts
        known.entities = list(entities)
        size = -(-len(entities) // pages) if entities else 1
        for page in range(pages):
            named = list(entities[page * size : (page + 1) * size])
            for backup in (False, True) if copies else (False,):
                detail = self._detail(known, event, code, starts, ends, status, named)
                detail |= {"page": str(page + 1), "totalPages": str(pages), "backupEvent": str(backup).lower()}
                self.core.events.raw(source=SOURCE, detail_type=DETAIL_TYPE, detail=detail, resources=named)
        if effect == "reboot" and starts is not None:
            self.core.timeline.at(starts, lambda: self._work(known, starts))
        return {"communication": known.communications, "messages": pages * (1 + copies)}

    def _detail(
        self,
        known: Announced,
        event: str,
        code: str,
        starts: datetime | None,
        ends: datetime | None,
        status: str,
        named: list[str],
    ) -> dict[str, Any]:
        scenario = self.core.scenario
        times = {"startTime": starts, "endTime": ends, "lastUpdatedTime": self.core.now}
        return {
            "eventArn": f"arn:aws:health:{scenario.region}::event/EC2/{code}/{event}",
            "service": "EC2",
            "eventTypeCode": code,
            "eventTypeCategory": "scheduledChange",
            "eventScopeCode": "ACCOUNT_SPECIFIC",
            "communicationId": f"{event}-{known.communications}",
            **{key: format_datetime(value, usegmt=True) for key, value in times.items() if value is not None},
            "statusCode": status,
            "eventRegion": scenario.region,
            "eventDescription": [{"language": "en_US", "latestDescription": "Your instance will be rebooted."}],
            "affectedEntities": [{"entityValue": each, "status": "PENDING"} for each in named],
            "affectedAccount": scenario.account,
        }

    def _work(self, known: Announced, starts: datetime) -> None:
        """AWS's own restart: no call, no event, no script; the instance keeps its id and its disks."""
        if known.starts != starts:
            return
        core = self.core
        for cluster in core.clusters.values():
            for node in cluster.nodes.values():
                if node.instance_id in known.entities and node.status == "Running":
                    node.epoch += 1
                    node.busy = "maintenance"
                    core.set_status(node, "Pending")
                    seconds = core.draw(core.scenario.timing.reboot, "maintenance", node.logical_id, node.boots)
                    core.later(cluster, node, seconds, self._back)

    def _back(self, cluster: Cluster, node: Node) -> None:
        node.boots += 1
        node.busy = None
        self.core.set_status(node, "Running")
