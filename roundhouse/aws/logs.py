"""The second way in: a CloudWatch Logs subscription on the health agent's records. Touches CloudWatch Logs only.

On Slurm the node health event may never come; the record in the cluster's log group always does.
"""

from __future__ import annotations

from typing import Any

from roundhouse.aws.errors import translated

HEALTH_PATTERN = '{ $.HealthMonitoringAgentDetectionEvent = "HealthEvent" }'


class HealthLog:
    """Subscriptions to health records."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def subscribe(self, group: str, name: str, destination_arn: str) -> None:
        """Send the health records of log group `group` to a Lambda. Repeating it changes nothing.

        Raises NotFound while HyperPod has not made the group yet, LimitExceeded when two other filters hold it.
        """
        with translated("PutSubscriptionFilter"):
            self._client.put_subscription_filter(
                logGroupName=group, filterName=name, filterPattern=HEALTH_PATTERN, destinationArn=destination_arn
            )
