"""A world of one service and one subnet, for the tests of the launcher side."""

from datetime import UTC, datetime
from typing import Any

from simulator.clock import VirtualClock
from simulator.service import Caller, ServiceError, Signals

CLUSTER_ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghijkl"


class ProbeSageMaker:
    """Knows one cluster, 'probe'; the scenario may make an answer wrong on purpose."""

    name = "sagemaker"

    def __init__(self, scenario: dict[str, Any]) -> None:
        self.scenario = scenario
        self.calls: list[tuple[str, dict[str, Any], Caller]] = []

    def call(self, operation: str, params: dict[str, Any], caller: Caller) -> dict[str, Any]:
        self.calls.append((operation, params, caller))
        if operation == "CreateCluster":
            return {"ClusterArn": CLUSTER_ARN}
        if operation == "DescribeCluster":
            if params["ClusterName"] == "wrong-answer":
                return {"ClusterArn": CLUSTER_ARN, "Color": "red"}
            if params["ClusterName"] != "probe":
                raise ServiceError("ResourceNotFound", f"Cluster {params['ClusterName']!r} not found")
            return {
                "ClusterArn": CLUSTER_ARN,
                "ClusterName": "probe",
                "ClusterStatus": "InService",
                "CreationTime": datetime(2026, 11, 30, 12, 0, 0, 123000, tzinfo=UTC),
                "InstanceGroups": [],
            }
        if operation == "ListClusters":
            return {"ClusterSummaries": []}
        raise ServiceError("ThrottlingException", f"{operation} is not part of the probe")


class ProbeWorld:
    """What `simulator.world` promises, as small as it can be."""

    def __init__(self, scenario: dict[str, Any], clock: VirtualClock, signals: Signals) -> None:
        self.clock, self.signals = clock, signals
        self.sagemaker = ProbeSageMaker(scenario)
        self.services = [self.sagemaker]
        self.ticks = 0
        self.subnets = [
            {
                "SubnetId": "subnet-0123456789abcdef0",
                "VpcId": "vpc-0123456789abcdef0",
                "AvailabilityZone": "us-west-2d",
                "AvailabilityZoneId": "usw2-az4",
                "CidrBlock": "10.1.0.0/16",
            }
        ]

    def cluster_tags(self) -> list[tuple[str, dict[str, str]]]:
        return [(CLUSTER_ARN, {})]

    def tick(self, now: datetime) -> None:
        self.ticks += 1

    def control(self, command: str, params: dict[str, Any]) -> dict[str, Any]:
        if command == "emit":
            self.signals.event(
                source=params["source"],
                detail_type=params["detail_type"],
                detail=params["detail"],
                resources=[CLUSTER_ARN],
                time=datetime.fromisoformat(params["time"]),
            )
            return {}
        if command == "log":
            self.signals.log(group=params["group"], stream="node", message=params["message"], time=self.clock.now())
            return {}
        if command == "calls":
            return {"calls": [[op, caller.principal_arn] for op, _, caller in self.sagemaker.calls]}
        if command == "ticks":
            return {"ticks": self.ticks}
        raise KeyError(command)

    def cluster_arn(self, name: str) -> str | None:
        return CLUSTER_ARN if name == "probe" else None


def build(scenario: dict[str, Any], clock: VirtualClock, signals: Signals) -> ProbeWorld:
    return ProbeWorld(scenario, clock, signals)
