"""From an environment's name to its ports, for commands. Imports `roundhouse.aws` when a port is asked for."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from roundhouse import ports
from roundhouse.contracts import names as contract
from roundhouse.environment import Environment, load
from roundhouse.errors import BadInput, Refused

ENVIRONMENTS = Path(os.environ.get("ROUNDHOUSE_ENVIRONMENTS", "environments"))


def environment_file(name: str) -> Path:
    """The file of an environment given by name or by path. Raises BadInput naming those that exist."""
    path = Path(name) if name.endswith(".toml") else ENVIRONMENTS / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in ENVIRONMENTS.glob("*.toml"))) or "none"
        raise BadInput(f"no environment file {path}: there are {known} in {ENVIRONMENTS}/")
    return path


def execution_name(given: str, option: str) -> str:
    """A name that Step Functions takes for an execution. Raises BadInput."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", given) is None:
        raise BadInput(f"{option} {given!r} is no name: 1 to 80 letters, digits, hyphens and underscores")
    return given


@dataclass(frozen=True)
class Deployment:
    """One deployed environment, seen from a person's terminal."""

    environment: Environment

    @classmethod
    def named(cls, name: str) -> Deployment:
        return cls(load(environment_file(name)))

    @property
    def names(self) -> contract.Names:
        return contract.Names(self.environment.name)

    def paused(self, switch: ports.Pause) -> Refused:
        """What to say of a command that starts something while people have paused us."""
        again = f'`roundhouse resume -e {self.environment.name} --why "…"`'
        return Refused(f"paused by {switch.by} since {switch.since:%Y-%m-%d %H:%M} UTC: {switch.why}; {again} first")

    @property
    def cluster(self) -> str:
        return self.environment.cluster.name

    def client(self, service: str) -> Any:
        """A client in the environment's own region, whatever the shell's region is."""
        from roundhouse.aws import clients

        return clients.client(service, region=self.environment.region)

    def state_machine_arn(self, name: str) -> str:
        machine = self.names.state_machine(name)
        return f"arn:aws:states:{self.environment.region}:{self.environment.account}:stateMachine:{machine}"

    @cached_property
    def incidents(self) -> ports.IncidentStore:
        from roundhouse.aws.stores import DynamoIncidents

        return DynamoIncidents(self.client("dynamodb"), self.names.table(contract.INCIDENTS))

    @cached_property
    def runs(self) -> ports.RunStore:
        from roundhouse.aws.stores import DynamoRuns

        return DynamoRuns(self.client("dynamodb"), self.names.table(contract.RUNS))

    @cached_property
    def rehearsals(self) -> ports.RehearsalStore:
        from roundhouse.aws.stores import DynamoRehearsals

        return DynamoRehearsals(self.client("dynamodb"), self.names.table(contract.CONTROL))

    @cached_property
    def control(self) -> ports.ControlStore:
        from roundhouse.aws.stores import DynamoControl

        return DynamoControl(self.client("dynamodb"), self.names.table(contract.CONTROL))

    @cached_property
    def breaker(self) -> ports.BreakerStore:
        from roundhouse.aws.stores import DynamoBreaker

        return DynamoBreaker(self.client("dynamodb"), self.names.table(contract.CONTROL))

    @cached_property
    def workflows(self) -> ports.Workflows:
        from roundhouse.aws.workflows import StepFunctions

        return StepFunctions(self.client("stepfunctions"))

    @cached_property
    def functions(self) -> ports.Functions:
        from roundhouse.aws import clients
        from roundhouse.aws.functions import LambdaFunctions

        return LambdaFunctions(clients.client("lambda", changing=True, region=self.environment.region))

    @cached_property
    def outbox(self) -> ports.Outbox:
        from roundhouse.aws.queues import SqsOutbox, queue_url

        sqs = self.client("sqs")
        return SqsOutbox(sqs, queue_url(sqs, self.names.queue(contract.OUTBOX_QUEUE)))

    def check_account(self) -> None:
        """Refuse to touch another account than the environment's. Raises BadInput."""
        from roundhouse.aws.identity import caller_arn

        arn = caller_arn(self.client("sts"))
        account = arn.split(":")[4]
        if account != self.environment.account:
            raise BadInput(
                f"these credentials are of account {account}, environment {self.environment.name} is of "
                f"{self.environment.account}: use that account's credentials"
            )

    def caller(self) -> str:
        from roundhouse.aws.identity import caller_arn

        return caller_arn(self.client("sts"))
