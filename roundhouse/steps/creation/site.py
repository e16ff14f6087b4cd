"""The building site: the ports that the steps of a creation share, in two bundles. Ports only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from roundhouse.build.spec import ClusterSpec
from roundhouse.line.state import Cluster
from roundhouse.ports import ClusterReader, ClusterWriter, Ledger, Outbox, Run, RunStore, ScaleLocks
from roundhouse.steps.creation import own
from roundhouse.steps.legacy.scaling import Scaler
from roundhouse.steps.look import read


@dataclass(frozen=True, kw_only=True)
class Site:
    """What every step of a creation looks at: live state, the run, the ledger. `now` is when the step began."""

    reader: ClusterReader
    runs: RunStore
    ledger: Ledger
    locks: ScaleLocks
    spec: ClusterSpec
    now: datetime

    def cluster(self) -> Cluster | None:
        """The cluster now; None when there is none."""
        return read(self.reader, self.spec.cluster)

    def owned(self, run_id: str) -> Run:
        """The run, if it is still `run_id`'s. Raises TakenOver when a later one has begun."""
        return own.owned(self.runs, self.spec.cluster, run_id)

    def made_by(self, run: Run) -> Cluster | None:
        """The cluster now, if it is the one that the run is about; None when that is gone, whoever has its name."""
        cluster = self.cluster()
        return None if cluster is not None and run.made_another(cluster.arn) else cluster

    def update(self, run_id: str, change: Callable[[Run], Run]) -> Run:
        """Change the run under its lock; TakenOver as in `owned`."""
        return own.update(self.runs, self.spec.cluster, run_id, change)


@dataclass(frozen=True, kw_only=True)
class Works(Site):
    """A site on which something is changed, and people are told of it."""

    writer: ClusterWriter
    outbox: Outbox

    def scaler(self) -> Scaler:
        """What sets absolute counts of a legacy cluster."""
        return Scaler(self.reader, self.writer, self.ledger, self.locks, self.spec, self.now)
