"""Least privilege, shown: what the table grants is what the test run has used, and nothing was refused on the way.

Comes last of `make test`, when every house has been played. A new row or grant that nothing uses goes red by itself.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simulator.client import IAM_RECORDS
from stacks.functions import STILL_CALLED
from stacks.permissions import FUNCTIONS, LOG_DELIVERY, MACHINES, TRACE_ACTIONS
from tests.last.grants import Seen, Use, granted, seen

pytestmark = pytest.mark.last

SAMPLING = ("xray:GetSamplingRules", "xray:GetSamplingTargets")
PLAN = "AWS asks for it beside the call itself where a plan pays; the embedded AWS does not know when"

# What nothing here can use, and why it is granted all the same. One that is used has to go from this list.
EXCEPTIONS: dict[Use, str] = {
    **{
        (name, action, "*"): "X-Ray: the embedded AWS has none, and functions trace nothing under virtual time"
        for names, actions in ((FUNCTIONS, TRACE_ACTIONS), (MACHINES, (*TRACE_ACTIONS, *SAMPLING)))
        for name in names
        for action in actions
    },
    **{
        (name, f"logs:{action}", "*"): "Step Functions delivers a machine's log by itself; the embedded AWS does not"
        for name in MACHINES
        for action in LOG_DELIVERY
    },
    **{
        (machine, "lambda:InvokeFunction", f"function:{name}"): "Executions of an earlier release call it"
        for machine, names in STILL_CALLED.items()
        for name in names
    },
    ("launch_stage", "sagemaker:DescribeTrainingPlan", "plans:"): PLAN,
    ("restore_count", "sagemaker:DescribeTrainingPlan", "plans:"): PLAN,
}


@pytest.fixture(scope="module")
def records() -> Seen:
    folder = Path(os.environ.get(IAM_RECORDS, ""))
    files = sorted(folder.glob("*.jsonl")) if os.environ.get(IAM_RECORDS) else []
    assert files, f"{IAM_RECORDS} names no folder with records: run `make test`, which keeps them"
    return seen(files)


def test_every_grant_is_used(records: Seen) -> None:
    assert _told(granted() - records.played - records.stepped - EXCEPTIONS.keys()) == []


def test_exceptions_are_granted_and_not_used(records: Seen) -> None:
    assert _told(EXCEPTIONS.keys() - granted()) == []
    assert _told(EXCEPTIONS.keys() & (records.played | records.stepped)) == []


def test_every_call_is_granted(records: Seen) -> None:
    assert _told(records.stepped - granted()) == [], "a handler calls a port that its role does not reach"
    assert _told(records.refused) == [], "IAM refused a call in a house that nobody had sabotaged"


def test_every_role_and_port_is_known(records: Seen) -> None:
    assert records.strangers == set()


def test_every_row_ran_under_its_own_role(records: Seen) -> None:
    assert (FUNCTIONS.keys() | MACHINES.keys()) - {row for row, _, _ in records.played} == set()


def _told(uses: set[Use] | frozenset[Use]) -> list[str]:
    return [f"{row}: {action} on {resource}" for row, action, resource in sorted(uses)]
