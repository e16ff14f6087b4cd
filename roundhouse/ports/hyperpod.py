"""Ports to HyperPod, and the test of a repaired node. Protocols; the contract is in the docstring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from roundhouse.build.records import ClusterEvent
from roundhouse.build.spec import ClusterSpec
from roundhouse.line.proof import Expected, Proof
from roundhouse.line.state import Cluster


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What a Batch* call answered. `failed` maps the id to (error code, message)."""

    accepted: tuple[str, ...]
    failed: dict[str, tuple[str, str]]


class ClusterReader(Protocol):
    def cluster(self, name: str) -> Cluster:
        """Counts and all nodes, read now (DescribeCluster + every page of ListClusterNodes with logical ids).

        `slurm` is left None. Raises NotFound when there is no such cluster."""

    def events(self, name: str, after: datetime, group: str | None = None) -> Sequence[ClusterEvent]:
        """Cluster events after `after`, oldest first, metadata looked up where the list leaves it null."""

    def event(self, name: str, event_id: str) -> ClusterEvent:
        """One event with its metadata (DescribeClusterEvent). Raises NotFound."""

    def tags(self, arn: str) -> dict[str, str]:
        """Tags of the cluster with that ARN (every page of ListTags). Raises NotFound."""


class ClusterWriter(Protocol):
    """Calls that change a cluster. Unavailable means that the call may have taken effect."""

    def create(self, spec: ClusterSpec, counts: dict[str, int]) -> str:
        """CreateCluster with `counts` nodes per group; returns the ARN. Raises InUse when the name exists."""

    def add(self, name: str, group: str, amount: int, token: str) -> tuple[str, ...]:
        """BatchAddClusterNodes of 1 to 50 nodes under a client token; returns their logical ids."""

    def set_count(self, name: str, group: str, count: int, settings: Mapping[str, Any]) -> None:
        """UpdateCluster: the absolute count of one group, with its settings as they are live (`Group.settings`).

        A count below the live one kills nodes at random: the caller holds the lock and has read live counts under it.
        There is no client token. Raises Conflict while another operation runs."""

    def delete_nodes(self, name: str, instance_ids: Sequence[str], logical_ids: Sequence[str] = ()) -> BatchAnswer:
        """BatchDeleteClusterNodes; at most 50 ids together. Lowers the group's target."""

    def reboot(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        """BatchRebootClusterNodes; at most 25 ids."""

    def replace(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        """BatchReplaceClusterNodes; at most 25 ids. Destroys the disks; keeps logical id and host name."""

    def delete_cluster(self, arn: str) -> None:
        """DeleteCluster of the very cluster with that ARN, whatever has its name by now. Customer file systems are not
        touched. Raises NotFound, Conflict."""


class NodeTest(Protocol):
    def run(
        self, cluster: Cluster | None, expected: Expected, called_at: datetime, since: datetime, now: datetime
    ) -> tuple[Proof, str]:
        """Test the node that is expected to be back: the verdict and why, in words.

        `called_at` is when the repair was called, `since` when the node was first seen Running after it. A test that
        did not run, or whose answer was lost, is INCONCLUSIVE, never PASS; WAIT means ask again later."""
