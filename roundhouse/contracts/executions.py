"""Executions of our state machines: what Step Functions says of one, and how those of an incident are called."""

from __future__ import annotations

from enum import StrEnum


class ExecutionState(StrEnum):
    """DescribeExecution's status. One that is to be redriven counts as running: nobody else takes its place."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ABORTED = "aborted"

    @classmethod
    def parse(cls, status: str) -> ExecutionState:
        """The state behind Step Functions' own word; RUNNING for one that we have never seen."""
        try:
            return cls(status.lower())
        except ValueError:
            return cls.RUNNING


def repair_execution(incident_id: str, restart: int) -> str:
    """Name of an incident's execution: the incident's id for the first, with `-r<n>` for its n-th restart.

    >>> repair_execution("inc-5eb8093c1141ce4b-1", 0), repair_execution("inc-5eb8093c1141ce4b-1", 2)
    ('inc-5eb8093c1141ce4b-1', 'inc-5eb8093c1141ce4b-1-r2')
    """
    return f"{incident_id}-r{restart}" if restart else incident_id
