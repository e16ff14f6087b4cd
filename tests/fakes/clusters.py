"""Several HyperPod clusters in memory: `ports.ClusterReader` and `ports.ClusterWriter` by name or ARN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from roundhouse.build.spec import ClusterSpec
from roundhouse.errors import NotFound, RoundhouseError, Unavailable
from roundhouse.line.state import Cluster
from roundhouse.ports import BatchAnswer, Clock, ClusterEvent
from tests.fakes.cluster import FakeCluster


class FakeClusters:
    """`known` holds a cluster for each name ever created, the deleted ones too, newest last. A
    test reaches into a cluster as into any FakeCluster."""

    def __init__(self, clock: Clock, *known: FakeCluster) -> None:
        self.clock = clock
        self.known: list[FakeCluster] = list(known)
        self.created: list[str] = []
        self.deleted: list[str] = []  # as they were named
        self.deaf = 0  # so many deletes are accepted, and nothing comes of them
        self.unlisted = timedelta(0)  # a new cluster is not listed for so long
        self._born: dict[str, datetime] = {}
        self.settle_deletes = True
        self.outcome: Callable[[FakeCluster], None] = FakeCluster.settle  # what becomes of one that is being created
        self.lost: list[str] = []  # operations whose next answer is lost
        self.refuse: list[tuple[str, RoundhouseError]] = []

    def standing(self) -> list[FakeCluster]:
        return [each for each in self.known if each.status]

    def settle(self) -> None:
        """What was begun is done."""
        for each in self.standing():
            if each.status == "Deleting" and self.settle_deletes:
                each.status, each.nodes, each.groups = "", [], {}
            elif each.status == "Creating":
                self.outcome(each)

    # ports.ClusterReader ---------------------------------------------------------------------------------------
    def cluster(self, name: str) -> Cluster:
        return self._at(name).cluster(name)

    def events(self, name: str, after: datetime, group: str | None = None) -> Sequence[ClusterEvent]:
        return self._at(name).events(name, after, group)

    def event(self, name: str, event_id: str) -> ClusterEvent:
        return self._at(name).event(name, event_id)

    def tags(self, arn: str) -> dict[str, str]:
        return self._at(arn).tags(arn)

    # ports.ClusterWriter ---------------------------------------------------------------------------------------
    def create(self, spec: ClusterSpec, counts: dict[str, int]) -> str:
        self._stumble("create")
        standing = next((each for each in self.standing() if each.name == spec.cluster), None)
        made = standing or FakeCluster(self.clock, spec.cluster)
        if standing is None:
            made.arn = f"{made.arn[:-3]}{len(self.known):03d}"
        arn = made.create(spec, counts)
        self.known.append(made)
        self._born[arn] = self.clock.now()
        self.created.append(spec.cluster)
        self._answer("create")
        return arn

    def delete_cluster(self, arn: str) -> None:
        self._stumble("delete")
        found = self._at(arn)
        self.deleted.append(arn)
        if self.deaf:
            self.deaf -= 1
        else:
            found.status = "Deleting"
        self._answer("delete")

    def add(self, name: str, group: str, amount: int, token: str) -> tuple[str, ...]:
        return self._at(name).add(name, group, amount, token)

    def delete_nodes(self, name: str, instance_ids: Sequence[str], logical_ids: Sequence[str] = ()) -> BatchAnswer:
        return self._at(name).delete_nodes(name, instance_ids, logical_ids)

    def reboot(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        return self._at(name).reboot(name, instance_ids)

    def replace(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        return self._at(name).replace(name, instance_ids)

    # Parts -----------------------------------------------------------------------------------------------------
    def _at(self, name: str) -> FakeCluster:
        for each in self.standing():
            if self.clock.now() - self._born.get(each.arn, datetime.min.replace(tzinfo=UTC)) < self.unlisted:
                continue
            if name in {each.name, each.arn}:
                return each
        raise NotFound(f"there is no cluster {name}")

    def _stumble(self, operation: str) -> None:
        for at, (name, error) in enumerate(self.refuse):
            if name == operation:
                del self.refuse[at]
                raise error

    def _answer(self, operation: str) -> None:
        if operation in self.lost:
            self.lost.remove(operation)
            raise Unavailable("the answer was lost")
