"""What goes wrong, and when: faults from the scenario and from control commands.

Imports the standard library, the scenario and this package's state.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from simulator.hyperpod.state import Cluster, Group, Node
from simulator.scenario import Fault


@dataclass
class Armed:
    """A fault and what is left of it. `since` is set when a fault that waits for a target count is triggered."""

    fault: Fault
    start: datetime | None
    end: datetime | None
    left: int | None
    since: datetime | None = None
    hits: int = 0


class Faults:
    """Every armed fault. Asking for one uses it up where it is limited."""

    def __init__(self, start: datetime, faults: list[Fault]) -> None:
        self.armed: list[Armed] = []
        for fault in faults:
            self.add(fault, start)

    def add(self, fault: Fault, now: datetime) -> None:
        """Arm a fault; without `at` it begins now, or when its group's target count passes `group_target_above`.

        Relative moments count from `now`: the start of the world for the scenario's faults.
        """
        start = fault.at.at(now) if fault.at else now
        end = fault.until.at(now) if fault.until else None
        if end is None and fault.duration is not None and fault.group_target_above is None:
            end = start + timedelta(seconds=fault.duration)
        left = fault.calls if fault.kind in ("throttle", "lost_answer", "node_error", "quota") else fault.attempts
        if left is None and fault.kind in ("throttle", "lost_answer", "node_error", "quota"):
            left = 1
        self.armed.append(Armed(fault, start, end, left))

    def note_target(self, now: datetime, cluster: Cluster, group: Group) -> None:
        """Trigger the faults that wait for this group to be asked to grow."""
        for a in self.armed:
            f = a.fault
            if f.group_target_above is None or a.since or f.group not in (None, group.name):
                continue
            if f.cluster in (None, cluster.name) and group.target > f.group_target_above:
                a.since = now
                a.end = now + timedelta(seconds=f.duration) if f.duration is not None else a.end

    def call(self, kind: str, operation: str, now: datetime) -> Fault | None:
        """A fault of `kind` ('throttle', 'lost_answer', 'quota') that hits this call; it is used up by one."""
        for a in self.armed:
            if a.fault.kind == kind and a.fault.operation == operation and self._live(a, now):
                return self._use(a)
        return None

    def launch(self, kind: str, now: datetime, cluster: Cluster, node: Node, az_id: str | None = None) -> Fault | None:
        """A fault of `kind` that hits this launch attempt of `node`; it is used up by one."""
        for a in self.armed:
            f = a.fault
            if f.kind != kind or not self._live(a, now) or not self._hits(f, cluster, node):
                continue
            if f.az_id not in (None, az_id) or f.instance_type not in (None, node.instance_type):
                continue
            return self._use(a)
        return None

    def node_error(self, operation: str, now: datetime, cluster: Cluster, node: Node) -> Fault | None:
        """A fault that makes this node fail inside a batch call."""
        for a in self.armed:
            f = a.fault
            named = f.kind == "node_error" and f.operation in (None, operation)
            if named and self._live(a, now) and self._hits(f, cluster, node):
                return self._use(a)
        return None

    def stuck(self, status: str, now: datetime, cluster: Cluster, node: Node) -> float | None:
        """Extra seconds that `node` stays in `status`; 0 when it is not stuck, None when for ever."""
        for a in self.armed:
            f = a.fault
            if f.kind == "stuck" and f.status == status and self._live(a, now) and self._hits(f, cluster, node):
                self._use(a)
                return f.duration
        return 0.0

    def _hits(self, f: Fault, cluster: Cluster, node: Node) -> bool:
        return (
            f.cluster in (None, cluster.name)
            and f.group in (None, node.group)
            and f.node in (None, node.index)
            and f.instance_id in (None, node.instance_id)
        )

    def _live(self, a: Armed, now: datetime) -> bool:
        if a.fault.group_target_above is not None and a.since is None:
            return False
        if a.start is not None and now < a.start:
            return False
        # A stuck node's `duration` says how long it sticks, not how long the fault is armed.
        timed = a.fault.kind != "stuck" or a.fault.until is not None
        if timed and a.end is not None and now >= a.end:
            return False
        return a.left is None or a.left > 0

    def _use(self, a: Armed) -> Fault:
        a.hits += 1
        if a.left is not None:
            a.left -= 1
        return a.fault
