"""Looks at the node's role: people's business, not a machine's. Pure."""

from __future__ import annotations

from roundhouse.line.decision.facts import View
from roundhouse.line.decision.looks.hyperpod import grace
from roundhouse.line.decision.looks.made import close, human
from roundhouse.line.decision.verdict import Decision, Guard
from roundhouse.line.event import CONTROLLER_MISSING
from roundhouse.line.incident import Outcome

CONTROLLER_ADVICE = (
    "A controller can be neither deleted nor replaced by HyperPod's node calls.",
    "Check that it is really gone: describe-cluster-node, and sinfo from a login node.",
    "Reboot it with batch-reboot-cluster-nodes if it still runs: its disks are kept.",
    "If that fails, open a Support case (production down) with the cluster's ARN and the instance id.",
    "Running jobs go on meanwhile, but nothing new starts: tell the users.",
)


def controller_missing(view: View) -> Decision | None:
    """HyperPod lists no controller at all. One list may lag behind: looked at again through the grace."""
    if view.facts.incident.code != CONTROLLER_MISSING:
        return None
    if view.cluster.controllers() != []:
        return close(Outcome.RECOVERED, "HyperPod lists a controller again")
    if (waiting := grace(view)) is not None:
        return waiting
    return human(Guard.CONTROLLER, "HyperPod lists no controller: only people may act", CONTROLLER_ADVICE)


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
