"""Who may do what: one table, from a function or state machine to its grants. Pure data; no CDK.

A role gets what its row says and nothing else: CDK's own grants are switched off. Actions never hold a wildcard.
A resource is written `kind:name` and becomes an ARN of the environment's account and region in `stacks.arns`. A grant
whose ARN must end in `*`, or be `*`, says why; the reason is what cdk-nag shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Grant:
    """Actions allowed on resources. `conditions` as in IAM; `reason` is required where an ARN has a wildcard."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    reason: str = ""
    conditions: dict[str, dict[str, str]] = field(default_factory=dict)


ID_UNKNOWN = "A cluster's ARN holds an id that AWS gives at its creation, so the cluster cannot be named before it"
EXECUTIONS = "An execution is called after its incident or run, which is not known at deployment"
NO_RESOURCE = "The service offers no resource-level permission for this action"
LOG_OF_CLUSTER = "HyperPod names the cluster's log group after an id that AWS gives at creation"


# Tables ----------------------------------------------------------------------------------------------------------
def reads(*tables: str) -> Grant:
    return Grant(("dynamodb:GetItem",), tuple(f"table:{table}" for table in tables))


def keeps(*tables: str) -> Grant:
    """Read and conditionally write single records."""
    return Grant(("dynamodb:GetItem", "dynamodb:PutItem"), tuple(f"table:{table}" for table in tables))


def lists(*tables: str) -> Grant:
    """Query a table's `by_cluster` index."""
    return Grant(("dynamodb:Query",), tuple(f"index:{table}" for table in tables))


def puts(table: str) -> Grant:
    return Grant(("dynamodb:PutItem",), (f"table:{table}",))


# Queues ----------------------------------------------------------------------------------------------------------
def sends(*queues: str) -> Grant:
    return Grant(("sqs:SendMessage",), tuple(f"queue:{queue}" for queue in queues))


def consumes(queue: str) -> Grant:
    """What Lambda does for a function that a queue feeds."""
    actions = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
    return Grant(tuple(f"sqs:{action}" for action in actions), (f"queue:{queue}",))


def holds(queue: str) -> Grant:
    """Let a received message come back later than its queue would."""
    return Grant(("sqs:ChangeMessageVisibility",), (f"queue:{queue}",))


# HyperPod --------------------------------------------------------------------------------------------------------
def cluster(*operations: str) -> Grant:
    return Grant(tuple(f"sagemaker:{each}" for each in operations), ("cluster:*",), ID_UNKNOWN)


LOOK = cluster("DescribeCluster", "ListClusterNodes")
EVENTS = cluster("ListClusterEvents", "DescribeClusterEvent")
# The cluster's document says the roles of groups, too, which a legacy cluster does not: whoever looks at one reads it
POLICY = Grant(("ssm:GetParameter",), ("parameter:policy",))
CLUSTER = Grant(("ssm:GetParameter",), ("parameter:cluster",))
PLAN = Grant(("sagemaker:DescribeTrainingPlan",), ("plans:",))
BILL = Grant(("ce:GetCostAndUsage",), ("*",), NO_RESOURCE)
SCRIPTS = (
    Grant(("s3:GetObject",), ("lifecycle-scripts:",), "Every file of the lifecycle folder is looked at"),
    Grant(("s3:ListBucket",), ("lifecycle-bucket:",)),
)
PASS_ROLE = Grant(
    ("iam:PassRole",),
    ("execution-roles:",),
    conditions={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
)
SECRET = Grant(("secretsmanager:GetSecretValue",), ("secret:slack",))

# Every function --------------------------------------------------------------------------------------------------
TRACE_ACTIONS = ("xray:PutTraceSegments", "xray:PutTelemetryRecords")
BASIC: tuple[Grant, ...] = (
    Grant(("logs:CreateLogStream", "logs:PutLogEvents"), ("own-log:",)),
    Grant(TRACE_ACTIONS, ("*",), NO_RESOURCE),
)

FUNCTIONS: dict[str, tuple[Grant, ...]] = {
    # ways in
    "read_health_log": (sends("intake"), sends("invocations-dlq")),
    "subscribe_health_log": (
        Grant(("logs:PutSubscriptionFilter",), ("cluster-log:",), LOG_OF_CLUSTER),
        sends("invocations-dlq"),
    ),
    "intake_signals": (
        consumes("intake"),
        POLICY,
        CLUSTER,
        LOOK,
        cluster("DescribeClusterEvent"),
        keeps("incidents", "control", "approvals", "maintenances"),
        lists("incidents"),
        Grant(("states:StartExecution",), ("machine:remediate_node", "machine:maintain_node")),
        Grant(("states:DescribeExecution",), ("executions:remediate_node", "executions:maintain_node"), EXECUTIONS),
        sends("settle", "outbox.fifo"),
    ),
    "reconcile_line": (
        POLICY,
        CLUSTER,
        LOOK,
        keeps("incidents", "ledger", "approvals", "control"),
        lists("incidents", "ledger", "approvals"),
        reads("runs"),
        Grant(("states:StartExecution",), ("machine:remediate_node", "machine:maintain_node")),
        Grant(
            ("states:DescribeExecution",),
            ("executions:remediate_node", "executions:maintain_node", "executions:create_cluster"),
            EXECUTIONS,
        ),
        sends("intake", "settle", "agent", "outbox.fifo"),
        sends("invocations-dlq"),
    ),
    "measure_line": (POLICY, CLUSTER, LOOK, lists("incidents"), reads("control"), sends("invocations-dlq")),
    # repair
    "decide_repair": (
        POLICY,
        CLUSTER,
        LOOK,
        EVENTS,
        keeps("incidents", "control"),
        lists("ledger"),
        sends("outbox.fifo"),
    ),
    "command_agent": (POLICY, CLUSTER, LOOK, keeps("incidents", "control"), sends("agent", "outbox.fifo")),
    "request_approval": (
        POLICY,
        CLUSTER,
        reads("runs"),
        keeps("approvals", "incidents"),
        puts("approval-tokens"),
        sends("settle", "outbox.fifo"),
    ),
    "read_approval": (CLUSTER, keeps("approvals", "incidents", "runs"), reads("threads"), sends("outbox.fifo")),
    "act_on_node": (
        POLICY,
        CLUSTER,
        LOOK,
        EVENTS,
        cluster("BatchRebootClusterNodes", "BatchReplaceClusterNodes", "BatchDeleteClusterNodes"),
        keeps("incidents", "ledger", "control"),
        lists("ledger"),
        reads("approvals"),
        sends("outbox.fifo"),
    ),
    "watch_node": (POLICY, CLUSTER, LOOK, EVENTS, keeps("incidents", "ledger"), reads("control"), lists("ledger")),
    "restore_count": (
        POLICY,
        CLUSTER,
        LOOK,
        cluster("BatchAddClusterNodes"),
        keeps("incidents", "ledger"),
        lists("ledger"),
    ),
    "prove_node": (
        POLICY,
        CLUSTER,
        LOOK,
        EVENTS,
        PLAN,
        keeps("incidents", "control"),
        lists("incidents"),
        reads("runs"),
        sends("outbox.fifo"),
    ),
    "close_incident": (POLICY, CLUSTER, LOOK, keeps("incidents", "control"), sends("outbox.fifo")),
    # maintenance
    "mind_window": (
        POLICY,
        CLUSTER,
        LOOK,
        EVENTS,
        keeps("incidents", "control"),
        lists("incidents"),
        reads("maintenances", "approvals"),
        sends("outbox.fifo"),
    ),
    # creation
    "check_preflight": (
        CLUSTER,
        LOOK,
        PLAN,
        Grant(("ec2:DescribeSubnets",), ("*",), NO_RESOURCE),
        Grant(("fsx:DescribeFileSystems",), ("*",), NO_RESOURCE),
        Grant(("servicequotas:ListServiceQuotas",), ("*",), NO_RESOURCE),
        *SCRIPTS,
        keeps("runs"),
        reads("control"),
        sends("outbox.fifo"),
    ),
    "plan_stage": (CLUSTER, LOOK, keeps("runs"), reads("ledger", "control"), lists("ledger")),
    "launch_stage": (
        CLUSTER,
        LOOK,
        cluster("CreateCluster", "BatchAddClusterNodes", "AddTags"),
        # a plan that pays for a group is a resource of the call too
        Grant(("sagemaker:CreateCluster", "sagemaker:DescribeTrainingPlan"), ("plans:",)),
        PASS_ROLE,
        keeps("ledger", "runs"),
        lists("ledger"),
        sends("outbox.fifo"),
    ),
    "watch_stage": (
        CLUSTER,
        LOOK,
        EVENTS,
        PLAN,
        BILL,
        keeps("runs"),
        lists("ledger"),
        sends("outbox.fifo"),
    ),
    "stop_ramp": (CLUSTER, LOOK, cluster("BatchDeleteClusterNodes"), keeps("ledger", "runs"), sends("outbox.fifo")),
    "roll_back": (
        CLUSTER,
        LOOK,
        cluster("BatchDeleteClusterNodes", "DeleteCluster"),
        keeps("ledger", "runs"),
        sends("outbox.fifo"),
    ),
    "finish_run": (CLUSTER, LOOK, keeps("runs"), sends("outbox.fifo")),
    # rehearsal of lifecycle scripts
    "begin_rehearsal": (
        CLUSTER,
        LOOK,
        *SCRIPTS,
        cluster("ListTags", "CreateCluster", "AddTags"),
        PASS_ROLE,
        keeps("control", "ledger"),
        sends("outbox.fifo"),
    ),
    "watch_rehearsal": (
        CLUSTER,
        LOOK,
        EVENTS,
        *SCRIPTS,
        cluster("ListTags"),
        keeps("control"),
        reads("ledger"),
    ),
    "end_rehearsal": (
        CLUSTER,
        LOOK,
        cluster("ListTags"),
        # whatever the code believes: a cluster without the tag of a rehearsal cannot be deleted by this role
        replace(cluster("DeleteCluster"), conditions={"Null": {"aws:ResourceTag/roundhouse:rehearsal": "false"}}),
        keeps("control", "ledger"),
        lists("ledger"),
        sends("outbox.fifo"),
        sends("invocations-dlq"),
    ),
    # people
    "answer_slack": (POLICY, SECRET, keeps("approvals"), sends("settle")),
    "settle_approval": (
        consumes("settle"),
        reads("approvals", "approval-tokens"),
        Grant(
            ("states:SendTaskSuccess",),
            ("machine:remediate_node", "machine:maintain_node", "machine:create_cluster"),
        ),
        sends("outbox.fifo"),
    ),
    "post_slack": (consumes("outbox.fifo"), holds("outbox.fifo"), POLICY, SECRET, keeps("threads")),
}

# What a function may do besides where the environment's cluster has legacy provisioning, and there alone: UpdateCluster
# takes absolute counts, and a wrong one kills nodes.
LEGACY: dict[str, tuple[Grant, ...]] = {
    "launch_stage": (cluster("UpdateCluster"), Grant(("sagemaker:UpdateCluster",), ("plans:",))),
    "restore_count": (
        cluster("UpdateCluster"),
        Grant(("sagemaker:UpdateCluster", "sagemaker:DescribeTrainingPlan"), ("plans:",)),
        PASS_ROLE,
    ),
}

LOG_DELIVERY = (
    "CreateLogDelivery",
    "GetLogDelivery",
    "UpdateLogDelivery",
    "DeleteLogDelivery",
    "ListLogDeliveries",
    "PutResourcePolicy",
    "DescribeResourcePolicies",
    "DescribeLogGroups",
)
_WATCHED: tuple[Grant, ...] = (
    Grant(tuple(f"logs:{action}" for action in LOG_DELIVERY), ("*",), NO_RESOURCE),
    Grant((*TRACE_ACTIONS, "xray:GetSamplingRules", "xray:GetSamplingTargets"), ("*",), NO_RESOURCE),
)

# A state machine may invoke the functions that its definition names (added from the file) and what is listed here.
MACHINES: dict[str, tuple[Grant, ...]] = {
    "remediate_node": _WATCHED,
    "maintain_node": _WATCHED,
    "create_cluster": (*_WATCHED, cluster("DescribeCluster")),
    "rehearse": _WATCHED,
}
