"""The way of messages: late, twice, out of order, or never. What was sent may come again."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from roundhouse.contracts import names
from roundhouse.line.state import ClusterEvent, Node
from tests.steps.asl import Died
from tests.steps.samples import health

if TYPE_CHECKING:
    from tests.histories.house import House

LATE = (60, 240, 900, 3600)
VERY_LATE = (4 * 3600, 9 * 3600, 30 * 3600)
AGAIN_S = 180  # until a message that failed comes again
RECEIVES = 6  # then a message is a dead letter


class Bus:
    """EventBridge and the intake queue."""

    def __init__(self, house: House, manner: str) -> None:
        self.house, self.manner = house, manner
        self.sent: list[dict[str, Any]] = []
        self.dead: list[dict[str, Any]] = []
        self._made = 0
        self.losing = False
        self.deliveries = 0

    # What is said ----------------------------------------------------------------------------------------------
    def health(self, instance_id: str, status: str, action: str = "None") -> None:
        self.post(self.made_health(instance_id, status, self.house.now, action))

    def made_health(self, instance_id: str, status: str, at: datetime, action: str = "None") -> dict[str, Any]:
        self._made += 1
        envelope = health(self.house, instance_id, status, id=f"ev-{self._made}", time=at.isoformat())
        envelope["detail"]["HealthSummary"]["RepairAction"] = action
        return envelope

    def cluster_event(self, event: ClusterEvent) -> None:
        detail = {
            "EventId": event.event_id,
            "ClusterName": self.house.cluster.name,
            "ClusterArn": self.house.cluster.arn,
            "InstanceGroupName": event.group,
            "InstanceId": event.instance_id,
            "ResourceType": event.resource_type,
            "EventTime": int(event.at.timestamp() * 1000),
            "EventLevel": event.level,
            "Description": event.description,
            "EventDetails": {"EventMetadata": {"Instance": {"NodeLogicalId": event.logical_id}}},
        }
        self.post(self._envelope(names.HYPERPOD_SOURCE, names.CLUSTER_EVENT, {"EventDetails": detail}))

    def called(self, operation: str, node: Node) -> None:
        """A colleague's call; CloudTrail tells of it, where somebody has set it up."""
        if self.house.dice("trail").random() < 0.5:
            return
        detail = {
            "eventID": f"call-{len(self.sent)}",
            "eventSource": "sagemaker.amazonaws.com",
            "eventName": f"Batch{operation.capitalize()}ClusterNodes",
            "eventTime": self.house.now.isoformat(),
            "userIdentity": {"type": "AssumedRole", "arn": "arn:aws:sts::111122223333:assumed-role/Admin/kim"},
            "requestParameters": {"clusterName": self.house.cluster.name, "nodeIds": [node.instance_id]},
        }
        self.post(self._envelope(names.HYPERPOD_SOURCE, "AWS API Call via CloudTrail", detail))

    def log_record(self, instance_id: str, group: str, condition: str = "True") -> None:
        self._made += 1
        said = f"Node condition NvidiaErrorTerminate is now: {condition}, reason: XidError"
        message = f'{{"HealthMonitoringAgentDetectionEvent":"HealthEvent","details: ":{{"message":"{said}"}}}}'
        record = {
            "id": f"log-{self._made}",
            "timestamp": int(self.house.now.timestamp() * 1000),
            "message": message,
        }
        detail = {
            "logGroup": f"/aws/sagemaker/Clusters/{self.house.cluster.name}/a1b2c3d4e5f6",
            "logStream": f"SagemakerHealthMonitoringAgent/{group}/{instance_id}",
            "logEvents": [record],
        }
        self.post(self._envelope(names.LOG_SOURCE, names.LOG_FINDING, detail))

    def snapshot(self, sequence: int, nodes: list[dict[str, Any]]) -> None:
        detail = {
            "version": 1,
            "cluster": self.house.cluster.name,
            "sequence": sequence,
            "taken_at": self.house.now.isoformat(),
            "nodes": nodes,
        }
        self.deliver(self._envelope(names.SLURM_SOURCE, names.SLURM_NODES, detail), 1)

    def replay(self, original: dict[str, Any]) -> None:
        self.post(self._envelope(names.REPLAY_SOURCE, "Roundhouse Replay", {"original": original}))

    # How it comes ----------------------------------------------------------------------------------------------
    def post(self, envelope: dict[str, Any]) -> None:
        self.sent.append(envelope)
        dice = self.house.dice("post")
        if self.losing and dice.random() < 0.7:
            self.house.happened["message lost"] += 1
            return
        for delay in self._delays(dice):
            self.house.later(delay, lambda: self.deliver(envelope, 1))

    def deliver(self, envelope: dict[str, Any], receive: int) -> None:
        self.deliveries += 1
        if envelope["source"] != names.SLURM_SOURCE:  # what the agent says wakes nobody, itself least
            self.house.wake()
        try:
            failed = bool(self.house.receive(envelope, receive))
        except Died:
            failed = True
        if not failed:
            self.house.judge.delivered(envelope)
        elif receive < RECEIVES:
            self.house.later(AGAIN_S * receive, lambda: self.deliver(envelope, receive + 1))
        else:
            self.dead.append(envelope)

    def _delays(self, dice: Any) -> list[float]:
        draw = dice.random()
        if self.manner == "prompt" or draw < 0.55:
            return [dice.randint(0, 9)]
        if draw < 0.75:
            self.house.happened["message twice"] += 1
            return [dice.randint(0, 9), dice.choice((1, 30, *LATE))]
        if self.manner == "mixed" or draw < 0.93:
            self.house.happened["message late"] += 1
            return [dice.choice(LATE)]
        self.house.happened["message very late"] += 1
        return [dice.choice(VERY_LATE)]

    def _envelope(self, source: str, kind: str, detail: dict[str, Any]) -> dict[str, Any]:
        self._made += 1
        made = {"id": f"env-{self._made}", "source": source, "detail-type": kind, "time": self.house.now.isoformat()}
        return {**made, "detail": detail}
