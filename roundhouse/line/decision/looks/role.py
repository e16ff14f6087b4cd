"""Looks at the node's role: people's business, not a machine's. Pure."""

from __future__ import annotations

from roundhouse.line.decision.facts import View
from roundhouse.line.decision.looks.made import human
from roundhouse.line.decision.verdict import Decision, Guard

CONTROLLER_ADVICE = (
    "A controller can be neither deleted nor replaced by HyperPod's node calls.",
    "Check that it is really gone: describe-cluster-node, and sinfo from a login node.",
    "Reboot it with batch-reboot-cluster-nodes if it still runs: its disks are kept.",
    "If that fails, open a Support case (production down) with the cluster's ARN and the instance id.",
    "Running jobs go on meanwhile, but nothing new starts: tell the users.",
)


def role(view: View) -> Decision | None:
    """Controller and login nodes are never touched by a machine."""
    code = view.facts.incident.code
    if view.role == "Controller":
        return human(
            Guard.CONTROLLER, f"the controller is in trouble ({code}): only people may act on it", CONTROLLER_ADVICE
        )
    if view.role == "Login":
        return human(Guard.LOGIN, f"a login node is in trouble ({code}): people work there, so people decide")
    return None
