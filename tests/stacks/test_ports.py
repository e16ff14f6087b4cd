"""The permission table against the code: a function may reach what its handler asks runtime for, and no more."""

from __future__ import annotations

import re

import pytest

from stacks.constructs.code import ROOT
from stacks.permissions import FUNCTIONS, PLAN

# What a port of functions/runtime.py stands on. Queues that Lambda itself reads are not ports (see UNASKED).
BEHIND = {
    "agent_queue": {"queue:agent"},
    "approvals": {"table:approvals"},
    "breaker": {"table:control"},
    "control": {"table:control"},
    "health_log": {"cluster-log:"},
    "incidents": {"table:incidents"},
    "intake_queue": {"queue:intake"},
    "lease": {"queue:outbox.fifo"},
    "locks": {"table:ledger"},
    "ledger": {"table:ledger"},
    "maintenances": {"table:maintenances"},
    "messenger": {"secret:slack"},
    "outbox": {"queue:outbox.fifo"},
    "rehearsals": {"table:control"},
    "reader": {"cluster:*", "parameter:cluster"},
    "runs": {"table:runs"},
    "settle_queue": {"queue:settle"},
    "slack_secret": {"secret:slack"},
    "threads": {"table:threads"},
    "tokens": {"table:approval-tokens"},
    "writer": {"cluster:*"},
}
NOTHING = {"clock", "wall_clock", "logger", "metrics", "tracer", "handler", "require", "names", "settings"}
# Reached without a port: by Lambda for the function, or differently by each function.
UNASKED = {
    "intake_signals": {"queue:intake"},
    "settle_approval": {"queue:settle"},
    "post_slack": {"queue:outbox.fifo"},
}
DIFFERS = {"surroundings", "workflows"}
DIFFERING = ("plans:", "*", "lifecycle-", "machine:", "executions:", "execution-roles:", "queue:invocations-dlq")


SETTINGS = {"policy": "parameter:policy", "cluster_spec": "parameter:cluster"}


def _ports(name: str) -> set[str]:
    return set(re.findall(r"\bruntime\.(\w+)", _text(name))) - NOTHING


def _settings(name: str) -> set[str]:
    return {SETTINGS[read] for read in re.findall(r"\bruntime\.settings\(\)\.(\w+)", _text(name))}


def _text(name: str) -> str:
    return "".join(path.read_text() for path in (ROOT / "functions" / name).glob("*.py"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_may_reach_what_it_asks_for(name: str) -> None:
    ports = _ports(name)
    assert ports - BEHIND.keys() - DIFFERS == set(), "a port that this test does not know"
    needed = {resource for port in ports & BEHIND.keys() for resource in BEHIND[port]} | UNASKED.get(name, set())
    needed |= _settings(name)
    granted = {resource.replace("index:", "table:") for grant in FUNCTIONS[name] for resource in grant.resources}
    assert granted - needed == {each for each in granted if each.startswith(DIFFERING)}
    assert needed - granted == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_surroundings_and_workflows_go_with_their_permissions(name: str) -> None:
    ports = _ports(name)
    actions = {action for grant in FUNCTIONS[name] for action in grant.actions}
    assert ("workflows" in ports) == bool(actions & {"states:StartExecution", "states:SendTaskSuccess"})
    assert ("surroundings" in ports) == bool(
        actions & {"ec2:DescribeSubnets", "ce:GetCostAndUsage", "s3:ListBucket"} or PLAN in FUNCTIONS[name]
    )
    assert ("writer" in ports) == any(re.match(r"sagemaker:(Batch|Create|Delete)", action) for action in actions)
