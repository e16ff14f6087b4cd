"""Ports: what functions need from the world, as Protocols with the contract in the docstring.

Adapters in `roundhouse.aws` and `roundhouse.slack` implement them; in-memory ones live in tests/fakes. All of them
raise only exceptions of `roundhouse.errors`.
"""

from roundhouse.build.records import BilledUsage, ClusterEvent, PlanState, Run, StageRecord
from roundhouse.line.state import Pause
from roundhouse.ports.hyperpod import BatchAnswer, ClusterReader, ClusterWriter, NodeTest
from roundhouse.ports.locks import ScaleLocks
from roundhouse.ports.messages import (
    AgentQueue,
    Functions,
    IntakeQueue,
    Messenger,
    Outbox,
    QueueLease,
    SettleQueue,
    Workflows,
)
from roundhouse.ports.stores import (
    ApprovalStore,
    BreakerStore,
    ControlStore,
    IncidentStore,
    Ledger,
    MaintenanceStore,
    RehearsalStore,
    RunStore,
    Settings,
    ThreadStore,
    TokenStore,
)
from roundhouse.ports.surroundings import Clock, Surroundings

__all__ = [
    "AgentQueue",
    "ApprovalStore",
    "BatchAnswer",
    "BilledUsage",
    "BreakerStore",
    "Clock",
    "ClusterEvent",
    "ClusterReader",
    "ClusterWriter",
    "ControlStore",
    "Functions",
    "IncidentStore",
    "IntakeQueue",
    "Ledger",
    "MaintenanceStore",
    "Messenger",
    "NodeTest",
    "Outbox",
    "Pause",
    "PlanState",
    "QueueLease",
    "RehearsalStore",
    "Run",
    "RunStore",
    "ScaleLocks",
    "Settings",
    "SettleQueue",
    "StageRecord",
    "Surroundings",
    "ThreadStore",
    "TokenStore",
    "Workflows",
]
