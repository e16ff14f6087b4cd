"""Reboot, replacement, hardware faults, the health agent and HyperPod's own repair, which races everybody else's.

Imports this package's core, launches, scaling and state.
"""

import json
from datetime import timedelta
from typing import Any

from simulator.hyperpod.core import Core
from simulator.hyperpod.state import Ailment, Cluster, Node
from simulator.hyperpod.workings.launches import Launches
from simulator.hyperpod.workings.scaling import Scaling

UNHEALTHY = "HyperPod Health Monitoring Agent (HMA) has detected fault type {fault} on this node and is unhealthy."
RECOMMENDATIONS = {
    "None": "Please Replace the Faulty Node.",
    "Replace": "HyperPod is working on repairing the unhealthy node. Please wait for the RepairAction to complete.",
    "Reboot": "HyperPod is working on repairing the unhealthy node. Please wait for the RepairAction to complete.",
}
HEALTHY = {
    "HealthStatus": "Healthy",
    "HealthStatusReason": "HyperPod Health Monitoring Agent (HMA) has detected no fault on this node.",
    "RepairAction": "None",
    "Recommendation": "No action is needed.",
}


class Repair:
    """What breaks nodes and what mends them."""

    def __init__(self, core: Core, launches: Launches, scaling: Scaling) -> None:
        self.core = core
        self.launches = launches
        self.scaling = scaling
        self.own: list[dict[str, Any]] = []
        """HyperPod's own repairs; they leave no call of a customer behind."""

    def reboot(self, cluster: Cluster, node: Node) -> None:
        """Restart in place: same instance id, disks kept, no lifecycle script."""
        core = self.core
        node.epoch += 1
        node.busy = "reboot"
        core.set_status(node, "Pending")
        self._event(cluster, node, f"Instance {node.instance_id} reboot is in progress in Cluster {cluster.name}")
        stuck = core.faults.stuck("Pending", core.now, cluster, node)
        if stuck is None:
            return
        seconds = core.draw(core.scenario.timing.reboot, "reboot", node.group, node.index, node.boots) + stuck
        core.later(cluster, node, seconds, self._rebooted)

    def replace(self, cluster: Cluster, node: Node) -> None:
        """Terminate and start anew: new instance id, same logical id, host name and address; every volume is lost."""
        core = self.core
        old = node.instance_id
        node.epoch += 1
        node.busy, node.replaced_from, node.attempts = "replace", old, 0
        core.stop_charge(node)
        node.provisioned = False
        core.set_status(node, "ShuttingDown")
        self._event(
            cluster,
            node,
            f"Instance {old} is starting as part of instance replacement in Cluster {cluster.name} and IG {node.group}",
        )
        self.scaling.spurious_warn(cluster)
        stuck = core.faults.stuck("ShuttingDown", core.now, cluster, node)
        if stuck is None:
            return
        timing = core.scenario.timing
        total = core.draw(timing.replace, "replace", node.group, node.index, node.wiped)
        ending = min(core.draw(timing.terminate, "terminate", old), total) + stuck
        core.later(cluster, node, ending, lambda c, n: self._terminated(c, n, max(0.0, total - ending + stuck)))

    def fail(
        self,
        cluster: Cluster,
        node: Node,
        *,
        fault: str = "NvidiaErrorTerminate",
        repair_action: str | None = None,
        health_event: bool | None = None,
        log_record: bool | None = None,
        fixed_by: str | None = None,
        record: dict[str, Any] | None = None,
    ) -> None:
        """Break a node. The health agent notices a little later, tells it, and HyperPod may begin to repair.

        `repair_action` None: what NodeRecovery implies. `fixed_by` 'reboot' or 'replace': what will mend it.
        `record`: the agent's log message, else one in the shape of a DCGM violation.
        """
        quirks = self.core.quirks
        own = "Reboot" if "Reboot" in fault else "Replace"
        action = repair_action or (own if self._acts_on(cluster) else "None")
        node.health = "Unhealthy"
        node.ailment = Ailment(
            fault,
            action,
            fixed_by or ("reboot" if "Reboot" in fault else "replace"),
            self.core.now.isoformat(),
            quirks.node_health_events if health_event is None else health_event,
            quirks.hma_log_records if log_record is None else log_record,
            record,
        )
        self._watch(cluster, node)

    def heal(self, cluster: Cluster, node: Node, *, event: bool | None = None) -> None:
        """The fault is gone; a Healthy event follows, unless the fault was never told or `event` says no."""
        told = node.ailment.told if node.ailment else self.core.quirks.node_health_events
        node.ailment, node.health = None, "Healthy"
        if (told if event is None else event) and node.instance_id:
            self.core.events.node_health(cluster, node.instance_id, dict(HEALTHY))

    def _acts_on(self, cluster: Cluster) -> bool:
        return cluster.node_recovery == "Automatic" and self.core.quirks.auto_recovery

    def _watch(self, cluster: Cluster, node: Node) -> None:
        """The health agent looks: it notices, tells, and HyperPod may begin to repair a while later."""
        core, ailment, broken = self.core, node.ailment, node.instance_id

        def still_broken() -> bool:
            present = cluster.nodes.get(node.logical_id) is node and node.instance_id == broken
            return present and ailment is not None and node.ailment is ailment

        def detected() -> None:
            if not still_broken() or ailment is None or broken is None:
                return
            if ailment.tell_log:
                self._agent_record(cluster, node, ailment.record)
            if ailment.tell_event:
                ailment.told = True
                core.events.node_health(cluster, broken, _summary(ailment))
            if ailment.repair_action in ("Reboot", "Replace") and self._acts_on(cluster):
                core.timeline.after(core.scenario.timing.auto_repair_delay, own_repair)

        def own_repair() -> None:
            # Somebody else may have acted in the meantime, the node may have healed, the switch may have been turned.
            if not still_broken() or ailment is None or node.busy or not self._acts_on(cluster):
                return
            action = ailment.repair_action
            self.own.append(
                {"time": core.now.isoformat(), "action": action, "instance_id": broken, "cluster": cluster.name}
            )
            (self.reboot if action == "Reboot" else self.replace)(cluster, node)

        core.timeline.after(core.scenario.timing.hma_detect, detected)

    def reclaim(self, plan_arn: str, resumes: bool) -> None:
        """A plan's block ends: take its instances back. They wait for the next block, or leave for good."""
        for cluster in list(self.core.clusters.values()):
            for node in list(cluster.nodes.values()):
                lease = node.lease
                if not lease or not lease.reserved or lease.reserved.arn != plan_arn or node.busy == "delete":
                    continue
                if resumes:
                    self.replace(cluster, node)
                else:
                    cluster.groups[node.group].target -= 1
                    self.scaling.remove(cluster, node)

    def schedule_reclaims(self) -> None:
        """Arrange for every plan's blocks to end an hour (by default) before their time."""
        before = timedelta(seconds=self.core.scenario.timing.plan_reclaim)
        for plan in self.core.capacity.plans():
            if plan.forced_status:
                continue
            for i, (_, end) in enumerate(plan.windows):
                if end - before > self.core.now and plan.arn:
                    arn, resumes = plan.arn, i + 1 < len(plan.windows)
                    self.core.timeline.at(end - before, lambda a=arn, r=resumes: self.reclaim(a, r))  # type: ignore[misc]

    def _rebooted(self, cluster: Cluster, node: Node) -> None:
        node.busy = None
        node.boots += 1
        self.core.set_status(node, "Running")
        self._event(cluster, node, f"Instance {node.instance_id} reboot completed in Cluster {cluster.name}")
        if node.ailment and node.ailment.fixed_by == "reboot":
            self.heal(cluster, node)
        elif node.ailment:
            if node.ailment.repair_action == "Reboot":
                node.ailment.repair_action = "Replace"
            self._watch(cluster, node)
        if cluster.groups[node.group].node_type == "Controller":
            self.scaling.launch_waiting(cluster)
        self.scaling.settle(cluster)

    def _terminated(self, cluster: Cluster, node: Node, remaining: float) -> None:
        self.core.release(node)
        node.wiped += 1
        node.boots = 0
        node.ailment, node.health = None, "Healthy"
        self.launches.start(cluster, node, remaining)

    def _agent_record(self, cluster: Cluster, node: Node, record: dict[str, Any] | None) -> None:
        message = record or {
            "level": "info",
            "ts": self.core.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "msg": "DCGM Policy Violation found ",
            "condition: ": "XID Error",
            "data: ": {"ErrNum": 79},
        }
        message = {**message, "HealthMonitoringAgentDetectionEvent": "HealthEvent"}
        stream = f"SagemakerHealthMonitoringAgent/{node.group}/{node.instance_id}"
        self.core.events.log(cluster, stream, json.dumps(message))

    def _event(self, cluster: Cluster, node: Node, text: str) -> None:
        self.core.events.cluster_event(
            cluster,
            text,
            group=node.group,
            instance_id=node.instance_id,
            metadata={"Instance": {"NodeLogicalId": node.logical_id}},
        )


def _summary(ailment: Ailment) -> dict[str, str]:
    """HealthSummary of a node-health event."""
    return {
        "HealthStatus": "Unhealthy",
        "HealthStatusReason": UNHEALTHY.format(fault=ailment.fault),
        "RepairAction": ailment.repair_action,
        "Recommendation": RECOMMENDATIONS.get(ailment.repair_action, RECOMMENDATIONS["None"]),
    }
