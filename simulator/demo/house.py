"""The running house: embedded AWS, Slack stand-in, Slurm stand-ins, and the deployments under test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from roundhouse import codec
from roundhouse.aws.stores import DynamoApprovals, DynamoBreaker, DynamoIncidents, DynamoLedger, DynamoRuns
from roundhouse.contracts import names
from roundhouse.contracts.names import Names
from roundhouse.environment import Environment, load
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident
from simulator.client import EmbeddedAws
from simulator.demo.assembly import FILES, REPOSITORY, synthesize
from simulator.deploy import deploy
from simulator.slack.client import SlackStandIn
from simulator.slurm import SlurmStandIn

Json = dict[str, Any]
LOOK_S = 0.25  # real seconds between two looks while waiting


class TooLate(RuntimeError):
    """Something that an act waits for did not happen."""


@dataclass
class Deployed:
    """One deployed environment: its records, and what a person would look at."""

    aws: EmbeddedAws
    environment: Environment

    def __post_init__(self) -> None:
        table, dynamodb = Names(self.environment.name).table, self.aws.client("dynamodb")
        self.names = Names(self.environment.name)
        self.cluster: str = self.environment.cluster.name
        self.runs = DynamoRuns(dynamodb, table(names.RUNS))
        self.incidents = DynamoIncidents(dynamodb, table(names.INCIDENTS))
        self.ledger = DynamoLedger(dynamodb, table(names.LEDGER))
        self.approvals = DynamoApprovals(dynamodb, table(names.APPROVALS))
        self.breaker = DynamoBreaker(dynamodb, table(names.CONTROL))

    def machine(self, name: str) -> str:
        """ARN of a state machine."""
        machine = self.names.state_machine(name)
        return f"arn:aws:states:{self.aws.region}:{self.aws.account}:stateMachine:{machine}"

    def executions(self, machine: str) -> list[Json]:
        """All executions of a state machine."""
        found: list[Json] = self.aws.client("sfn").list_executions(stateMachineArn=self.machine(machine))["executions"]
        return found

    def nodes(self) -> list[Json]:
        """The simulated truth about the cluster's nodes."""
        found: list[Json] = self.aws.control("nodes", cluster=self.cluster)["nodes"]
        return found

    def workers(self) -> list[Json]:
        return [node for node in self.nodes() if node["group"] == "workers"]

    def known(self) -> list[Incident]:
        """All incidents, oldest first."""
        return list(self.incidents.of_cluster(self.cluster, self.aws.now() - timedelta(days=7)))

    def incident_of(self, instance_id: str) -> Incident | None:
        """The newest hardware incident of an instance."""
        mine = [i for i in self.known() if i.instance_id == instance_id and i.cause is CauseClass.HARDWARE]
        return mine[-1] if mine else None


@dataclass
class House:
    """Everything that runs. Make it with `opened`."""

    aws: EmbeddedAws
    slack: SlackStandIn
    deployed: dict[str, Deployed]
    slurm: dict[str, SlurmStandIn]
    growth: list[tuple[datetime, str, dict[str, int]]] = field(default_factory=list)
    """(virtual time, cluster, Running nodes by how they are billed), whenever that changed."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Where each environment takes Slack's interaction requests."""
    files: Path = FILES
    """The folder of the environments' files."""

    def __getitem__(self, environment: str) -> Deployed:
        return self.deployed[environment]

    # What happened --------------------------------------------------------------------------------------------------
    def calls(self, operation: str | None = None, since: int = 0, of: str | None = None) -> list[Json]:
        """Calls that change something, made by Roundhouse's roles (of one environment), oldest first."""
        found = self.aws.control("calls", since=since, **({"operation": operation} if operation else {}))["calls"]
        return [each for each in found if _made_by(each, of)]

    def sequence(self) -> int:
        """Number of the newest call, for `calls(since=…)`."""
        every = self.aws.control("calls")["calls"]
        return int(every[-1]["sequence"]) if every else 0

    def messages(self, containing: str = "", after: float = 0.0) -> list[Json]:
        """Channel messages, oldest first, whose text holds `containing`, posted after Slack time `after`."""
        return [m for m in self.slack.messages() if containing in m["text"] and float(m["ts"]) > after]

    def question(self, containing: str, after: float = 0.0) -> Json | None:
        """The newest message with buttons whose text holds `containing`."""
        asked = [
            m for m in self.messages(containing, after) if any(b["type"] == "actions" for b in m.get("blocks", []))
        ]
        return asked[-1] if asked else None

    def listen(self, environment: str) -> None:
        """Point the Slack app at an environment. Each has an app of its own; the stand-in has one to lend."""
        self.slack.set_interactivity_url(self.addresses[environment])

    def click(self, message: Json, choice: str, user: str) -> Json:
        """Click the button of `message` whose value carries `choice`, as `user`."""
        for block in message["blocks"]:
            for element in block.get("elements", []) if block["type"] == "actions" else []:
                if f'"{choice}"' in element.get("value", ""):
                    return self.slack.click(message["ts"], element["action_id"], user)
        raise TooLate(f"no button {choice!r} on {message['text'][:80]!r}")

    # Waiting --------------------------------------------------------------------------------------------------------
    def wait(self, what: str, until: Callable[[], Any], timeout_s: float, seen: Callable[[], object] = str) -> Any:
        """Look until `until()` is true, keeping the growth of clusters; returns what it gave. Raises TooLate."""
        deadline = time.monotonic() + timeout_s
        while True:
            self.keep_growth()
            found = until()
            if found:
                return found
            self.check_alive()
            if time.monotonic() > deadline:
                raise TooLate(f"{what}: not within {timeout_s:g} s; {seen()}")
            time.sleep(LOOK_S)

    def idle(self, virtual: timedelta) -> None:
        """Let virtual time pass."""
        until = self.aws.now() + virtual
        while self.aws.now() < until:
            self.keep_growth()
            time.sleep(LOOK_S)

    def check_alive(self) -> None:
        for name, stand_in in self.slurm.items():
            if stand_in.failure is not None:
                raise TooLate(f"the Slurm stand-in of {name} stopped: {stand_in.failure!r}")

    def keep_growth(self) -> None:
        truth = self.aws.control("nodes")
        for cluster in truth["clusters"]:
            mine = [n for n in truth["nodes"] if n["cluster"] == cluster["name"] and n["group"] == "workers"]
            counts = dict(Counter(str(n["billed"] or "none") for n in mine if n["status"] == "Running"))
            before = next((g for g in reversed(self.growth) if g[1] == cluster["name"]), None)
            if before is None or before[2] != counts:
                self.growth.append((datetime.fromisoformat(truth["time"]), cluster["name"], counts))

    # Acting as people do ----------------------------------------------------------------------------------------------
    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the `roundhouse` command against the embedded AWS, whatever its exit code."""
        return subprocess.run(
            [sys.executable, "-m", "roundhouse.cli", *arguments],
            cwd=REPOSITORY,
            env={k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
            | self.aws.environment()
            | {"ROUNDHOUSE_ENVIRONMENTS": str(self.files)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def roundhouse(self, *arguments: str) -> str:
        """What the `roundhouse` command prints. Raises TooLate when it does not end with 0."""
        done = self.command(*arguments)
        if done.returncode:
            raise TooLate(f"roundhouse {' '.join(arguments)} gave {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def status(self, environment: str) -> Json:
        """`roundhouse status --json` of an environment."""
        found: Json = json.loads(self.roundhouse("status", "-e", environment, "--json"))
        return found

    def create(self, environment: str, run_id: str) -> str:
        """`roundhouse create`; returns the execution's ARN."""
        self.roundhouse("create", "-e", environment, "--run-id", run_id, "--no-watch")
        machine = self[environment].machine("create_cluster")
        return f"{machine.replace(':stateMachine:', ':execution:')}:{run_id}"

    def ended(self, execution: str) -> Json | None:
        """The execution when it has ended."""
        found: Json = self.aws.client("sfn").describe_execution(executionArn=execution)
        return found if found["status"] != "RUNNING" else None

    def document(self, value: object) -> Any:
        """A record as plain data, for the report."""
        return codec.to_plain(value)


def opened(
    stack: ExitStack,
    scenario: Path | Mapping[str, Any],
    environments: tuple[str, ...],
    *,
    scale: float,
    workdir: Path,
    say: Callable[[str], None],
    assemblies: Mapping[str, Path] | None = None,
    files: Path = FILES,
) -> House:
    """Start and deploy everything; `stack` ends it. `assemblies` replaces what would be synthesized (for sabotage).

    `files` is the folder that holds the environments' files.
    """
    given = dict(assemblies or {})
    made = {}
    for name in environments:
        say(f"synthesizing {name}")
        made[name] = given.get(name) or synthesize(name, files)
    say("starting the embedded AWS and the Slack stand-in")
    slack = stack.enter_context(SlackStandIn.start(workdir))
    aws = stack.enter_context(
        EmbeddedAws.start(scenario, scale=scale, workdir=workdir, outside={"SLACK_API_URL": slack.api_url})
    )
    house = House(aws, slack, {}, {}, files=files)
    for name in environments:
        environment = load(files / f"{name}.toml")
        _prepare(aws, environment, slack)
        outputs = deploy(aws, made[name], lambda text: say(f"deploying {text}"))
        house.deployed[name] = Deployed(aws, environment)
        address = outputs.outputs[f"Roundhouse-{name}-Approvals"]["InteractionsUrl"]
        house.addresses[name] = _reachable(aws, address)
        aws.warm()
        stand_in = SlurmStandIn(aws, name, environment.cluster.name)
        stand_in.start()
        stack.callback(stand_in.stop)
        house.slurm[name] = stand_in
    house.listen(environments[0])
    return house


def _prepare(aws: EmbeddedAws, environment: Environment, slack: SlackStandIn) -> None:
    """What exists before a deployment: the Slack secret, the lifecycle scripts, the instances' role."""
    secrets, s3, iam = aws.client("secretsmanager"), aws.client("s3"), aws.client("iam")
    known = {each["Name"] for each in secrets.list_secrets()["SecretList"]}
    if environment.slack.secret_name not in known:
        body = json.dumps({"bot_token": slack.bot_token, "signing_secret": slack.signing_secret})
        secrets.create_secret(Name=environment.slack.secret_name, SecretString=body)
    lifecycle = environment.cluster.lifecycle
    bucket, _, prefix = lifecycle.s3_uri.removeprefix("s3://").partition("/")
    if bucket not in {each["Name"] for each in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": aws.region})
        s3.put_object(Bucket=bucket, Key=f"{prefix}{lifecycle.on_create}", Body=b"#!/bin/sh\nexit 0\n")
    role = environment.cluster.execution_role_arn.rpartition("/")[2]
    if role not in {each["RoleName"] for each in iam.list_roles()["Roles"]}:
        iam.create_role(RoleName=role, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": []}))


def _reachable(aws: EmbeddedAws, url: str) -> str:
    """The HTTP API's address here: its host names the API, the embedded AWS has it under a path."""
    host, _, path = url.partition("://")[2].partition("/")
    return f"{aws.http_api_url(host.split('.')[0])}/{path}"


def _made_by(call: Json, environment: str | None) -> bool:
    """Whether a role of Roundhouse (of that environment) made the call. One environment's name may begin another's."""
    principal = str(call["principal"])
    if environment is None:
        return "Roundhouse-" in principal
    return any(f"Roundhouse-{environment}-{stack}-" in principal for stack in ("Workflows", "Approvals", "Signals"))
