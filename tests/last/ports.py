"""What each call on a port asks of IAM, in the permission table's words. Pure data.

Tests of the steps run the real handlers on ports in memory, and so show which function makes which call; that the
adapter behind a port makes these requests is what tests/aws and every played house show.
"""

from __future__ import annotations

Asked = tuple[tuple[str, str], ...]
"""(action, resource as stacks/permissions.py writes it)."""


def _record(port: str, table: str, *, reads: str = "get", writes: str = "put", lists: str = "") -> dict[str, Asked]:
    found: dict[str, Asked] = {f"{port}.{each}": (("dynamodb:GetItem", f"table:{table}"),) for each in reads.split()}
    found |= {f"{port}.{each}": (("dynamodb:PutItem", f"table:{table}"),) for each in writes.split()}
    return found | {f"{port}.{each}": (("dynamodb:Query", f"index:{table}"),) for each in lists.split()}


def _cluster(*operations: str) -> Asked:
    return tuple((f"sagemaker:{each}", "cluster:*") for each in operations)


_LOOK = _cluster("DescribeCluster", "ListClusterNodes")
_EVENTS = _cluster("ListClusterEvents", "DescribeClusterEvent")

RUNNING: Asked = (("logs:CreateLogStream", "own-log:"), ("logs:PutLogEvents", "own-log:"))
"""What every function asks that runs at all."""

ASKED: dict[str, Asked] = {
    **_record("incidents", "incidents", lists="of_cluster"),
    **_record("ledger", "ledger", lists="of_cluster"),
    **_record("approvals", "approvals", lists="of_cluster"),
    **_record("runs", "runs"),
    **_record("maintenances", "maintenances"),
    **_record("locks", "ledger"),
    **_record("breaker", "control", reads="load", writes="save"),
    **_record("control", "control", reads="pause snapshot", writes="keep_snapshot"),
    **_record("rehearsals", "control", reads="newest of_digest", writes="put keep"),
    **_record("tokens", "approval-tokens", reads="token", writes="keep"),
    **_record("threads", "threads", reads="place", writes="keep"),
    "settings.policy": (("ssm:GetParameter", "parameter:policy"),),
    "settings.cluster_spec": (("ssm:GetParameter", "parameter:cluster"),),
    "outbox.tell": (("sqs:SendMessage", "queue:outbox.fifo"),),
    "settle_queue.settle": (("sqs:SendMessage", "queue:settle"),),
    "agent_queue.send": (("sqs:SendMessage", "queue:agent"),),
    "intake_queue.put": (("sqs:SendMessage", "queue:intake"),),
    # a legacy cluster does not say the roles of its groups: the environment's document does
    "reader.cluster": (*_LOOK, ("ssm:GetParameter", "parameter:cluster")),
    "reader.events": _EVENTS,
    "reader.event": _cluster("DescribeClusterEvent"),
    "reader.tags": _cluster("ListTags"),
    "writer.create": (*_cluster("CreateCluster", "AddTags"), ("iam:PassRole", "execution-roles:")),
    "writer.add": _cluster("BatchAddClusterNodes"),
    "writer.set_count": (
        *_cluster("UpdateCluster"),
        ("sagemaker:UpdateCluster", "plans:"),
        ("iam:PassRole", "execution-roles:"),
    ),
    "writer.delete_nodes": _cluster("BatchDeleteClusterNodes"),
    "writer.reboot": _cluster("BatchRebootClusterNodes"),
    "writer.replace": _cluster("BatchReplaceClusterNodes"),
    "writer.delete_cluster": _cluster("DeleteCluster"),
    "surroundings.account_id": (),
    "surroundings.subnet_az_id": (("ec2:DescribeSubnets", "*"),),
    "surroundings.file_system_az_id": (("fsx:DescribeFileSystems", "*"),),
    "surroundings.plan": (("sagemaker:DescribeTrainingPlan", "plans:"),),
    "surroundings.quota": (("servicequotas:ListServiceQuotas", "*"),),
    "surroundings.object_exists": (("s3:GetObject", "lifecycle-scripts:"),),
    "surroundings.lifecycle_files": (("s3:GetObject", "lifecycle-scripts:"), ("s3:ListBucket", "lifecycle-bucket:")),
    "surroundings.billed": (("ce:GetCostAndUsage", "*"),),
    **{
        f"workflows.{call}:{machine}": ((action, f"{kind}:{machine}"),)
        for call, action, kind in (
            ("start", "states:StartExecution", "machine"),
            ("status", "states:DescribeExecution", "executions"),
            ("succeed", "states:SendTaskSuccess", "machine"),
        )
        for machine in ("remediate_node", "maintain_node", "create_cluster")
    },
}
