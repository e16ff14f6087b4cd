"""Event: the one shape that every signal takes, whatever its source. Pure; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

CONTROLLER_MISSING = "controller_missing"  # code of our own signal: HyperPod lists no controller
LOST_READY = "lost_ready"  # code of HyperPod's warning that nodes are not ready: noise while a group is scaled


class Source(StrEnum):
    """Where a signal came from. `trusted` ones cannot be forged by a user of a node."""

    NODE_HEALTH = "hyperpod.node_health"
    CLUSTER_EVENT = "hyperpod.cluster_event"
    STATE_CHANGE = "hyperpod.state_change"
    AWS_HEALTH = "aws.health"
    CLOUDTRAIL = "aws.cloudtrail"  # somebody called HyperPod's API
    HEALTH_AGENT_LOG = "hyperpod.health_agent_log"
    SLURM = "slurm"
    KERNEL = "kernel"
    LIVE = "roundhouse.live"  # our own signal, of what HyperPod lists: the message about it was lost
    REPLAY = "replay"

    @property
    def trusted(self) -> bool:
        """True when AWS itself says it; what runs on a node can be forged by whoever has a shell there."""
        return self in _BY_AWS


_BY_AWS = {
    Source.NODE_HEALTH,
    Source.CLUSTER_EVENT,
    Source.STATE_CHANGE,
    Source.AWS_HEALTH,
    Source.CLOUDTRAIL,
    Source.LIVE,
}


class Health(StrEnum):
    """What an event says about its subject."""

    UNHEALTHY = "unhealthy"
    HEALTHY = "healthy"
    INFO = "info"


class CauseClass(StrEnum):
    """The classes that incidents are kept by: one incident per (cluster, instance, class)."""

    HARDWARE = "hardware"  # GPU, NVLink, memory, host hardware
    NETWORK = "network"  # EFA, NIC
    UNREACHABLE = "unreachable"  # Slurm or HyperPod cannot talk to the node
    PROVISIONING = "provisioning"  # the instance could not be made (EFA check, ENI, internal)
    CAPACITY = "capacity"  # no instance to be had
    LIFECYCLE = "lifecycle"  # lifecycle scripts failed
    CLUSTER = "cluster"  # the cluster as a whole
    MAINTENANCE = "maintenance"  # AWS has announced work on the instance, for a time to come
    UNKNOWN = "unknown"  # held, watched, shown to people


@dataclass(frozen=True, slots=True)
class Event:
    """One signal. Times are aware UTC datetimes. None means that the source did not say.

    `event_id` is stable over redeliveries of the same message. `evidence` is the raw line or a bounded excerpt of
    the payload (at most 2,000 characters). `proposed_action` is what the source says it does or wants
    ("replace", "reboot", "none"); `repair_begun` is True when HyperPod says it repairs the node by itself.
    """

    event_id: str
    source: Source
    cluster: str
    component: str
    code: str
    cause: CauseClass
    health: Health
    source_time: datetime
    ingest_time: datetime
    evidence: str
    instance_id: str | None = None
    boot_id: str | None = None
    logical_id: str | None = None
    slurm_name: str | None = None
    group: str | None = None
    count: int = 1
    proposed_action: str | None = None
    repair_begun: bool = False
    actor: str = ""  # CLOUDTRAIL alone: who called, as people know him
    needs_lookup: bool = False  # True: metadata was null, ask DescribeClusterEvent before judging
