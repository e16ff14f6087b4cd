"""command_agent: ask Slurm to drain a node, or take our drain back. To the agent queue; keeps incident and breaker."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.errors import BadInput
from roundhouse.steps import look
from roundhouse.steps.repair import cordon


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{incident_id, verb: cordon|resume, decision|result}`. Answer: see `roundhouse.steps.repair.cordon`."""
    policy, now = runtime.settings().policy(), runtime.clock().now()
    cluster = look.live(runtime.reader(), runtime.control(), policy, now)
    shared: dict[str, Any] = {
        "incidents": runtime.incidents(),
        "agent": runtime.agent_queue(),
        "cluster": cluster,
        "policy": policy,
        "now": now,
    }
    match event["verb"]:
        case "cordon":
            shared |= {"breaker": runtime.breaker(), "outbox": runtime.outbox()}
            return cordon.cordon(event["incident_id"], event["decision"], **shared)
        case "resume":
            return cordon.resume(event["incident_id"], event["result"], **shared)
        case verb:
            raise BadInput(f"no verb {verb!r}: there are cordon and resume")
