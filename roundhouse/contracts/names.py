"""Names that stacks give to resources and code uses to find them. Standard library only.

One environment is one deployment, and so one prefix: `roundhouse-<environment>-<thing>`.
"""

from dataclasses import dataclass

# EventBridge ---------------------------------------------------------------------------------------------------
HYPERPOD_SOURCE = "aws.sagemaker"
STATE_CHANGE = "SageMaker HyperPod Cluster State Change"
NODE_HEALTH = "SageMaker HyperPod Cluster Node Health Event"
CLUSTER_EVENT = "SageMaker HyperPod Cluster Event"

HEALTH_SOURCE = "aws.health"
HEALTH_EVENT = "AWS Health Event"
SCHEDULED_CHANGE = "scheduledChange"  # the category of maintenance to come

API_CALL = "AWS API Call via CloudTrail"
WATCHED_CALLS = (  # calls on nodes and clusters that are told when somebody else makes them
    "BatchReplaceClusterNodes",
    "BatchRebootClusterNodes",
    "BatchDeleteClusterNodes",
    "BatchAddClusterNodes",
    "UpdateCluster",
    "UpdateClusterSoftware",
    "DeleteCluster",
    "StartClusterHealthCheck",
)

SLURM_SOURCE = "roundhouse.slurm"
SLURM_NODES = "Roundhouse Slurm Nodes"  # a snapshot of node states by the controller agent

LOG_SOURCE = "roundhouse.hma"
LOG_FINDING = "Roundhouse Health Agent Record"  # a record of HyperPod's health agent, taken from CloudWatch Logs

LIVE_SOURCE = "roundhouse.live"  # what HyperPod lists and no message told; goes to the intake queue over no bus
LIVE_STATE = "Roundhouse Live State"

REPLAY_SOURCE = "roundhouse.replay"  # documented or recorded HyperPod events sent by people: only ever cause a look

METRIC_NAMESPACE = "Roundhouse"
DEFAULT_AGENT_MAX_AGE_S = 300


@dataclass(frozen=True, slots=True)
class Names:
    """Resource names of one environment.

    >>> Names("demo").table("ledger")
    'roundhouse-demo-ledger'
    """

    environment: str

    def of(self, thing: str) -> str:
        """`roundhouse-<environment>-<thing>`, for any resource whose name we choose."""
        return f"roundhouse-{self.environment}-{thing}"

    def table(self, table: str) -> str:
        return self.of(table)

    def queue(self, queue: str) -> str:
        return self.of(queue)

    def parameter(self, name: str) -> str:
        """SSM parameter path of a runtime document: `policy` or `cluster`."""
        return f"/roundhouse/{self.environment}/{name}"

    def function(self, function: str) -> str:
        """Lambda function name from its folder name, e.g. `act_on_node`."""
        return self.of(function.replace("_", "-"))

    def state_machine(self, name: str) -> str:
        return self.of(name.replace("_", "-"))


# Tables (partition key; index) -----------------------------------------------------------------------------------
INCIDENTS = "incidents"  # incident_id; index by_cluster (cluster, opened_at)
LEDGER = "ledger"  # action_id; index by_cluster (cluster, claimed_at)
APPROVALS = "approvals"  # approval_id; index by_cluster (cluster, asked_at)
APPROVAL_TOKENS = "approval-tokens"  # approval_id; readable by the executor alone
CONTROL = "control"  # key: pause switch, breaker, Slurm snapshot
RUNS = "runs"  # cluster: the creation under way or last done
THREADS = "threads"  # key: where a Slack thread or message lives
MAINTENANCES = "maintenances"  # key: what AWS Health has announced, one record per event and account
TABLE_KEYS = {
    INCIDENTS: "incident_id",
    LEDGER: "action_id",
    APPROVALS: "approval_id",
    APPROVAL_TOKENS: "approval_id",
    CONTROL: "key",
    RUNS: "cluster",
    THREADS: "key",
    MAINTENANCES: "key",
}
BY_CLUSTER = "by_cluster"

# Queues ----------------------------------------------------------------------------------------------------------
INTAKE_QUEUE = "intake"  # standard; every signal, whatever its source
OUTBOX_QUEUE = "outbox.fifo"  # FIFO, one group per Slack thread
SETTLE_QUEUE = "settle"  # standard; decided approvals
AGENT_QUEUE = "agent"  # standard; commands for the controller agent


def log_group(cluster: str, cluster_arn: str) -> str:
    """The log group that HyperPod makes for a cluster.

    >>> log_group("train", "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6")
    '/aws/sagemaker/Clusters/train/a1b2c3d4e5f6'
    """
    return f"/aws/sagemaker/Clusters/{cluster}/{cluster_arn.rpartition('/')[2]}"
