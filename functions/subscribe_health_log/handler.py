"""subscribe_health_log: when the cluster is in service, send its health agent's records our way. Writes a filter."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.contracts.names import log_group


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: HyperPod's state change to InService. The log group's name holds an id that only exists by then.

    Raises NotFound while the group is not made yet: the invocation is tried again, and then a dead letter.
    """
    detail = event["detail"]
    group = log_group(detail["ClusterName"], detail["ClusterArn"])
    runtime.health_log().subscribe(group, runtime.names().of("health"), runtime.require("READ_HEALTH_LOG_ARN"))
    runtime.logger.info("subscribed to health records", log_group=group)
    return {"log_group": group}
