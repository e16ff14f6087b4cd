"""What every part of a simulated HyperPod region shares. Imports the leaf modules of this package and the scenario."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from simulator.hyperpod.events import Events
from simulator.hyperpod.faults import Faults
from simulator.hyperpod.ground.capacity import Capacity
from simulator.hyperpod.ground.ids import Ids
from simulator.hyperpod.ground.meter import Meter
from simulator.hyperpod.ground.timeline import Timeline
from simulator.hyperpod.state import Cluster, Node
from simulator.scenario import Range, Scenario, Subnet
from simulator.service import Caller, ServiceError


class Core:
    """The state of one account and region, and small things that all parts need. Not locked: the world does that."""

    def __init__(self, scenario: Scenario, start: datetime) -> None:
        self.scenario = scenario
        self.timeline = Timeline(start)
        self.ids = Ids(scenario.seed)
        self.capacity = Capacity(scenario, start, self.ids)
        self.meter = Meter(scenario)
        self.quirks = replace(scenario.quirks)
        self.events = Events(self.quirks, self.timeline, self.ids)
        self.faults = Faults(start, scenario.fault)
        self.clusters: dict[str, Cluster] = {}
        self.subnets: dict[str, Subnet] = {s.id: s for s in scenario.subnet}

    @property
    def now(self) -> datetime:
        """Virtual time: of the callback that runs, or of the call."""
        return self.timeline.now

    def find(self, name_or_arn: str, caller: Caller) -> Cluster:
        """The cluster of that name or ARN in the caller's own account and region; else ResourceNotFound."""
        if self.is_home(caller):
            for cluster in self.clusters.values():
                if name_or_arn in (cluster.name, cluster.arn):
                    return cluster
        raise ServiceError("ResourceNotFound", f"Cluster {name_or_arn} was not found.")

    def is_home(self, caller: Caller) -> bool:
        """Whether the caller looks at the account and region that this world is about; elsewhere nothing exists."""
        return (caller.account, caller.region) == (self.scenario.account, self.scenario.region)

    def draw(self, span: Range, *keys: object) -> float:
        """Seconds out of `span`, the same for the same seed and keys."""
        return self.ids.draw(*span, *keys)

    def later(self, cluster: Cluster, node: Node, seconds: float, action: Callable[[Cluster, Node], None]) -> None:
        """Run `action` for the node after `seconds`, unless something else has taken the node over by then."""
        epoch = node.epoch

        def run() -> None:
            if node.epoch == epoch and cluster.nodes.get(node.logical_id) is node:
                action(cluster, node)

        self.timeline.after(seconds, run)

    def set_status(self, node: Node, status: str) -> None:
        """Change a node's status and remember the previous one for lists that lag."""
        if status != node.status:
            node.shown_status, node.changed = node.status, self.now
            node.status = status

    def release(self, node: Node) -> None:
        """Give the node's capacity back and stop charging it."""
        self.stop_charge(node)
        if node.lease:
            self.capacity.give_back(node.lease)
            node.lease = None

    def stop_charge(self, node: Node) -> None:
        """Billing stops as soon as the instance begins to terminate; the lease may last a little longer."""
        if node.charge:
            self.meter.finish(self.now, node.charge, node.lease)
            node.charge = None


def bad_request(message: str) -> ServiceError:
    """A ValidationException."""
    return ServiceError("ValidationException", message)
