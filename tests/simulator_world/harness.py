"""A world on a clock that the test winds by hand, with every call and answer checked against the service model."""

from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import botocore

from simulator.aws.models import Models, from_wire, problems, to_wire
from simulator.service import Caller, ServiceError
from simulator.world import World, build

START = datetime(2026, 10, 1, 12, tzinfo=UTC)
ME = Caller("111122223333", "us-west-2", "arn:aws:iam::111122223333:role/builder")
ELSEWHERE = Caller("111122223333", "us-east-1", None)
GPU, CPU = "ml.g6.48xlarge", "ml.m5.2xlarge"
PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/contract"
AZ1, AZ2 = "subnet-0fedcba9876543210", "subnet-0123456789abcdef0"
ROLE = "arn:aws:iam::111122223333:role/hyperpod-instance-role"
MODELS = Models(Path(botocore.__file__).parent / "data")
Params = dict[str, Any]


class ManualClock:
    """Virtual time that moves only when the test says so."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


class Recorder:
    """Signals that were delivered."""

    def __init__(self) -> None:
        self.events: list[Params] = []
        self.logs: list[Params] = []

    def event(self, *, source: str, detail_type: str, detail: Params, resources: list[str], time: datetime) -> None:
        self.events.append(
            {"source": source, "type": detail_type, "detail": detail, "resources": resources, "time": time}
        )

    def log(self, *, group: str, stream: str, message: str, time: datetime) -> None:
        self.logs.append({"group": group, "stream": stream, "message": message, "time": time})


def scenario(**changes: Any) -> Params:
    """A small account: plan of 8 GPUs in usw2-az2, an on-demand pool, steady timing. Changes replace whole keys."""
    base: Params = {
        "seed": 5,
        "subnet": [
            {"id": AZ2, "vpc": "vpc-0123456789abcdef0", "az": "us-west-2b", "az_id": "usw2-az2", "cidr": "10.1.0.0/20"},
            {
                "id": AZ1,
                "vpc": "vpc-0123456789abcdef0",
                "az": "us-west-2a",
                "az_id": "usw2-az1",
                "cidr": "10.1.16.0/20",
            },
        ],
        "price": [
            {"instance_type": GPU, "on_demand": 16.6, "reserved": 8.0},
            {"instance_type": CPU, "on_demand": 0.46, "reserved": 0.46},
        ],
        "on_demand": [
            {"az_id": az, "instance_type": kind, "count": 20} for az in ("usw2-az1", "usw2-az2") for kind in (GPU, CPU)
        ],
        "training_plan": [plan()],
        "quotas": {"max_instances_per_cluster": 100, "total_instances": 200, "cluster_usage": {GPU: 64, CPU: 9}},
        "timing": {"worker_launch": 480, "terminate": 60},
        "quirks": {"spurious_warn": False},
    }
    return deepcopy(base | changes)


def plan(**changes: Any) -> Params:
    """A [[training_plan]] entry."""
    base: Params = {
        "name": "contract",
        "az_id": "usw2-az2",
        "instance_type": GPU,
        "count": 8,
        "window": [{"start": "-1d", "end": "+30d"}],
    }
    return base | changes


def group(name: str, count: int, **changes: Any) -> Params:
    """An instance group of compute nodes; None takes a member away."""
    spec: Params = {
        "InstanceGroupName": name,
        "InstanceType": GPU,
        "InstanceCount": count,
        "ExecutionRole": ROLE,
        "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-lifecycle-example/base/", "OnCreate": "on_create.sh"},
        "SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["gpu"]},
        "TrainingPlanArn": PLAN,
    }
    return {k: v for k, v in (spec | changes).items() if v is not None}


def controller(**changes: Any) -> Params:
    """The controller's instance group."""
    fixed: Params = {"InstanceType": CPU, "SlurmConfig": {"NodeType": "Controller"}, "TrainingPlanArn": None}
    return group("controller", 1, **(fixed | changes))


def request(count: int = 4, *, subnet: str = AZ2, **changes: Any) -> Params:
    """A CreateCluster request for a controller and `count` workers."""
    base: Params = {
        "ClusterName": "train",
        "NodeProvisioningMode": "Continuous",
        "Orchestrator": {"Slurm": {}},
        "VpcConfig": {"SecurityGroupIds": ["sg-0123456789abcdef0"], "Subnets": [subnet]},
        "InstanceGroups": [controller(), group("workers", count)],
    }
    return {k: v for k, v in (base | changes).items() if v is not None}


class Bench:
    """A world with its clock and signals, and shorthand for what tests do to it."""

    def __init__(self, table: Params | None = None) -> None:
        self.clock = ManualClock()
        self.signals = Recorder()
        self.world: World = build(table if table is not None else scenario(), self.clock, self.signals)

    def call(self, operation: str, params: Params, *, service: str = "sagemaker", caller: Caller = ME) -> Params:
        """One call over the wire format; request and answer are checked against the model, members included."""
        model = MODELS.operation(service, operation)
        assert model is not None, operation
        wrong = list(problems(params, model.input_shape))
        assert not wrong, wrong
        arrived = from_wire(to_wire(params), model.input_shape)
        answer = self.world.service(service).call(operation, arrived, caller)
        wrong = list(problems(answer, model.output_shape))
        assert not wrong, wrong
        returned: Params = from_wire(to_wire(answer), model.output_shape)
        return returned

    def refused(self, operation: str, params: Params, **options: Any) -> ServiceError:
        """The error that a call answers; the test fails if it answers none."""
        try:
            self.call(operation, params, **options)
        except ServiceError as error:
            return error
        raise AssertionError(f"{operation} was not refused")

    def control(self, command: str, **params: Any) -> Params:
        return self.world.control(command, params)

    def run(self, minutes: float = 0, *, seconds: float = 0) -> None:
        """Let virtual time pass in steps of a minute at most."""
        left = timedelta(minutes=minutes, seconds=seconds)
        while left > timedelta(0):
            step = min(left, timedelta(minutes=1))
            self.clock.time += step
            left -= step
            self.world.tick(self.clock.time)
        self.world.tick(self.clock.time)

    def create(self, count: int = 4, *, minutes: float = 30, **changes: Any) -> Params:
        """A cluster of `count` workers after `minutes`."""
        self.call("CreateCluster", request(count, **changes))
        self.run(minutes)
        return self.describe()

    def describe(self, name: str = "train") -> Params:
        return self.call("DescribeCluster", {"ClusterName": name})

    def group(self, name: str = "workers") -> Params:
        found: Params = next(g for g in self.describe()["InstanceGroups"] if g["InstanceGroupName"] == name)
        return found

    def nodes(self, group_name: str | None = "workers") -> list[Params]:
        """The whole truth about nodes, by index."""
        found = [n for n in self.control("nodes")["nodes"] if group_name in (None, n["group"])]
        return sorted(found, key=lambda n: n["index"])

    def running(self, group_name: str = "workers") -> int:
        return sum(n["status"] == "Running" for n in self.nodes(group_name))

    def listed(self, **params: Any) -> list[Params]:
        """ListClusterNodes, all pages."""
        found: list[Params] = []
        token: Params = {}
        while True:
            answer = self.call("ListClusterNodes", {"ClusterName": "train", "MaxResults": 100, **params, **token})
            found += answer["ClusterNodeSummaries"]
            if "NextToken" not in answer:
                return found
            token = {"NextToken": answer["NextToken"]}

    def history(self, **params: Any) -> list[Params]:
        """ListClusterEvents, oldest first, all pages."""
        found: list[Params] = []
        token: Params = {}
        while True:
            asked = {"ClusterName": "train", "MaxResults": 100, "SortOrder": "Ascending", **params, **token}
            answer = self.call("ListClusterEvents", asked)
            found += answer["Events"]
            if "NextToken" not in answer:
                return found
            token = {"NextToken": answer["NextToken"]}

    def texts(self, contains: str, group_name: str = "workers") -> list[str]:
        """Descriptions of events of a group that contain a text."""
        return [e["Description"] for e in self.history(InstanceGroupName=group_name) if contains in e["Description"]]

    def until(self, condition: Callable[[], bool], minutes: float = 240) -> None:
        """Let time pass until the condition holds."""
        for _ in range(int(minutes)):
            if condition():
                return
            self.run(1)
        raise AssertionError(f"not so within {minutes} virtual minutes")
