"""Reading live state: the cluster as HyperPod tells it now, joined with the agent's Slurm snapshot. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from roundhouse.errors import NotFound, Throttled, Unavailable
from roundhouse.line.policy import Policy
from roundhouse.line.state import GONE, Cluster
from roundhouse.ports import ClusterReader, ControlStore


def live(reader: ClusterReader, control: ControlStore, policy: Policy, now: datetime) -> Cluster | None:
    """The cluster now, or None when it could not be read (unknown, never "all well"). One that does not exist has
    status `Gone`.

    A Slurm snapshot older than the policy allows is left out: unknown too. Throttling and time-outs are None;
    a missing permission is an error of ours and is raised.
    """
    try:
        cluster = reader.cluster(policy.cluster)
    except NotFound:
        return Cluster(policy.cluster, "", GONE, "", groups={}, nodes=(), read_at=now)
    except (Throttled, Unavailable):
        return None
    snapshot = control.snapshot(policy.cluster)
    if snapshot is not None and now - snapshot.taken_at <= timedelta(seconds=policy.slurm_max_age_s):
        return replace(cluster, slurm=snapshot)
    return cluster


def read(reader: ClusterReader, name: str) -> Cluster | None:
    """The cluster now; None when there is none. Throttling and time-outs are raised: the workflow tries again."""
    try:
        return reader.cluster(name)
    except NotFound:
        return None
