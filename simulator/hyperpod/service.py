"""The 'sagemaker' service: takes calls apart, checks them, lets faults strike, and keeps a record of every call.

Imports this package and the contract with the embedded AWS. The world holds the lock around `call`.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from simulator.hyperpod import trail
from simulator.hyperpod.answers.batches import Batches
from simulator.hyperpod.answers.reading import Reading
from simulator.hyperpod.core import Core, bad_request
from simulator.hyperpod.workings.clusters import Clusters
from simulator.hyperpod.workings.launches import Launches
from simulator.hyperpod.workings.maintenance import Maintenance
from simulator.hyperpod.workings.repair import Repair
from simulator.hyperpod.workings.scaling import Scaling
from simulator.service import Caller, ServiceError

Params = dict[str, Any]
Handler = Callable[[Params, Caller], Params]


class CallLog:
    """Every call that may change something, in order, whatever service it went to; and counts of all calls."""

    def __init__(self) -> None:
        self.entries: list[Params] = []
        self.counts: dict[str, int] = {}

    def record(self, core: Core, service: str, operation: str, params: Params, caller: Caller) -> Params:
        """A new entry; the caller adds `result` or `error` to it."""
        entry: Params = {
            "sequence": len(self.entries) + 1,
            "time": core.now.isoformat(),
            "service": service,
            "operation": operation,
            "params": deepcopy(params),
            "principal": caller.principal_arn,
            "account": caller.account,
            "region": caller.region,
        }
        self.entries.append(entry)
        return entry


class HyperPod:
    """SageMaker's cluster operations on one `Core`."""

    name = "sagemaker"

    def __init__(self, core: Core, log: CallLog) -> None:
        self.core = core
        self.log = log
        self.launches = Launches(core)
        self.scaling = Scaling(core, self.launches)
        self.clusters = Clusters(core, self.launches, self.scaling)
        self.repair = Repair(core, self.launches, self.scaling)
        self.maintenance = Maintenance(core)
        reading, batches = Reading(core), Batches(core, self.scaling, self.repair)
        self.reads: dict[str, Handler] = {
            "DescribeCluster": reading.describe_cluster,
            "ListClusters": reading.list_clusters,
            "ListClusterNodes": reading.list_cluster_nodes,
            "DescribeClusterNode": reading.describe_cluster_node,
            "ListClusterEvents": reading.list_cluster_events,
            "DescribeClusterEvent": reading.describe_cluster_event,
            "ListClusterOperations": reading.list_cluster_operations,
            "DescribeClusterOperation": reading.describe_cluster_operation,
            "DescribeTrainingPlan": reading.describe_training_plan,
            "ListTrainingPlans": reading.list_training_plans,
            "ListTags": reading.list_tags,
        }
        self.changes: dict[str, Handler] = {
            "CreateCluster": self._create,
            "UpdateCluster": self._update,
            "DeleteCluster": self._delete,
            "UpdateClusterSoftware": self._update_software,
            "StartClusterHealthCheck": self._start_check,
            "BatchAddClusterNodes": batches.batch_add,
            "BatchDeleteClusterNodes": batches.batch_delete,
            "BatchRebootClusterNodes": batches.batch_reboot,
            "BatchReplaceClusterNodes": batches.batch_replace,
            "AddTags": self._add_tags,
        }
        self.repair.schedule_reclaims()

    def call(self, operation: str, params: Params, caller: Caller) -> Params:
        """Answer one call (`simulator.service.Service`)."""
        self.log.counts[operation] = self.log.counts.get(operation, 0) + 1
        if operation in self.reads:
            self._may_fail(operation)
            return deepcopy(self.reads[operation](params, caller))
        if operation not in self.changes:
            raise ServiceError("UnknownOperationException", f"This SageMaker knows no operation {operation}.")
        entry = self.log.record(self.core, self.name, operation, params, caller)
        try:
            self._may_fail(operation)
            answer = deepcopy(self.changes[operation](deepcopy(params), caller))
        except ServiceError as error:
            entry["error"] = {"code": error.code, "message": error.message}
            self._trail(operation, params, caller, error)
            raise
        entry["result"] = deepcopy(answer)
        self._trail(operation, params, caller, answer)
        if self.core.faults.call("lost_answer", operation, self.core.now):
            entry["answer_lost"] = True
            raise ServiceError("InternalFailure", "The request processing has failed because of an unknown error.", 500)
        return answer

    def _trail(self, operation: str, params: Params, caller: Caller, outcome: Params | ServiceError) -> None:
        """CloudTrail tells of the call, if it is switched on in the account."""
        if not self.core.quirks.cloudtrail or not self.core.is_home(caller):
            return
        event_id = str(uuid5(NAMESPACE_OID, f"call {len(self.log.entries)}"))
        told = trail.detail(operation, params, caller, event_id, self.core.now.isoformat(), outcome)
        self.core.events.call(trail.DETAIL_TYPE, told)

    def _may_fail(self, operation: str) -> None:
        """Injected throttling and quotas."""
        core = self.core
        if core.faults.call("throttle", operation, core.now):
            raise ServiceError("ThrottlingException", "Rate exceeded", 400)
        quota = core.faults.call("quota", operation, core.now)
        if quota:
            raise ServiceError("ResourceLimitExceeded", quota.message or "The account-level service limit is exceeded.")

    def _create(self, p: Params, caller: Caller) -> Params:
        if not self.core.is_home(caller):
            raise bad_request(f"No subnet of the request exists in account {caller.account}, region {caller.region}.")
        return {"ClusterArn": self.clusters.create(p).arn}

    def _update(self, p: Params, caller: Caller) -> Params:
        cluster = self.core.find(p["ClusterName"], caller)
        self.clusters.update(cluster, p)
        return {"ClusterArn": cluster.arn}

    def _delete(self, p: Params, caller: Caller) -> Params:
        cluster = self.core.find(p["ClusterName"], caller)
        self.clusters.delete(cluster)
        return {"ClusterArn": cluster.arn}

    def _update_software(self, p: Params, caller: Caller) -> Params:
        cluster = self.core.find(p["ClusterName"], caller)
        self.maintenance.update_software(cluster, p)
        return {"ClusterArn": cluster.arn}

    def _start_check(self, p: Params, caller: Caller) -> Params:
        cluster = self.core.find(p["ClusterName"], caller)
        self.maintenance.start_check(cluster, p)
        return {"ClusterArn": cluster.arn}

    def _add_tags(self, p: Params, caller: Caller) -> Params:
        cluster = self.core.find(p["ResourceArn"], caller)
        cluster.tags |= {t["Key"]: t["Value"] for t in p["Tags"]}
        return {"Tags": [{"Key": k, "Value": v} for k, v in cluster.tags.items()]}
