"""What the table grants against what was used, from the records of a whole test run.

Two kinds of records: what IAM decided in every embedded AWS (`simulator.aws.decisions`), and which ports the handlers
called in the tests of the steps (`tests.steps.used`), where rare branches are played that no house gets to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stacks.constructs.code import ROOT
from stacks.functions import STILL_CALLED
from stacks.permissions import BASIC, FUNCTIONS, LEGACY, MACHINES, Grant
from tests.last.ports import ASKED, RUNNING

Use = tuple[str, str, str]
"""Row of the table, action, resource as the table writes it."""

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_OWN = r"roundhouse-[a-z0-9-]+-"
_ARNS: dict[str, str] = {
    "table": rf"arn:aws:dynamodb:.+:table/{_OWN}{{}}",
    "index": rf"arn:aws:dynamodb:.+:table/{_OWN}{{}}/index/by_cluster",
    "queue": rf"arn:aws:sqs:.+:{_OWN}{{}}",
    "function": rf"arn:aws:lambda:.+:function:{_OWN}{{}}(:live)?",
    "machine": rf"arn:aws:states:.+:stateMachine:{_OWN}{{}}",
    "executions": rf"arn:aws:states:.+:execution:{_OWN}{{}}:.+",
    "cluster": r"arn:aws:sagemaker:.+:cluster/.+",
    "plans": r"arn:aws:sagemaker:.+:training-plan/.+",
    "execution-roles": r"arn:aws:iam::.+:role/.+",
    "parameter": r"arn:aws:ssm:.+:parameter/roundhouse/[^/]+/{}",
    "secret": r"arn:aws:secretsmanager:.+:secret:.+",
    "cluster-log": r"arn:aws:logs:.+:log-group:/aws/sagemaker/Clusters/.+",
    "own-log": rf"arn:aws:logs:.+:log-group:/aws/lambda/{_OWN}.+",
    "lifecycle-bucket": r"arn:aws:s3:::[^/]+",
    "lifecycle-scripts": r"arn:aws:s3:::.+/.+",
    "*": r".*",
}


def granted() -> set[Use]:
    """Every grant of the table."""
    found = set()
    for name, grants in FUNCTIONS.items():
        found |= {(name, *pair) for grant in (*BASIC, *grants, *LEGACY.get(name, ())) for pair in _pairs(grant)}
    for name, grants in MACHINES.items():
        text = (ROOT / "statemachines" / f"{name}.asl.json").read_text()
        called = {each for each in _PLACEHOLDER.findall(text) if each in FUNCTIONS} | set(STILL_CALLED.get(name, ()))
        found |= {(name, "lambda:InvokeFunction", f"function:{each}") for each in called}
        found |= {(name, *pair) for grant in grants for pair in _pairs(grant)}
    return found


@dataclass
class Seen:
    """What the records tell. `refused` are calls that IAM denied in houses that nobody had sabotaged."""

    played: set[Use] = field(default_factory=set)
    stepped: set[Use] = field(default_factory=set)
    refused: set[tuple[str, str, str]] = field(default_factory=set)
    strangers: set[str] = field(default_factory=set)
    """Roles of our stacks that have no row, and calls on ports that tests/last/ports.py does not know."""


def seen(records: Iterable[Path]) -> Seen:
    """Read the files of `records`."""
    found, table = Seen(), granted()
    for path in records:
        for line in (json.loads(text) for text in path.read_text().splitlines()):
            if line["kind"] == "called":
                _stepped(found, line)
            elif line["stack"].startswith("Roundhouse-"):
                _played(found, line, table)
    return found


def _stepped(found: Seen, line: dict[str, Any]) -> None:
    if line["function"] in MACHINES:
        found.stepped.add((line["function"], "lambda:InvokeFunction", f"function:{line['call']}"))
        return
    if line["call"] not in ASKED:
        found.strangers.add(f"{line['function']}: {line['call']}")
        return
    found.stepped |= {(line["function"], action, resource) for action, resource in (*ASKED[line["call"]], *RUNNING)}


def _played(found: Seen, line: dict[str, Any], table: set[Use]) -> None:
    row = row_of(line["logical_id"])
    if row is None:
        found.strangers.add(f"{line['stack']}: {line['logical_id']}")
    elif line["kind"] == "used" and not line["allowed"]:
        found.refused.add((row, line["action"], line["resource"]))
    elif line["kind"] == "used":
        found.played |= {
            use for use in table if use[:2] == (row, line["action"]) and stands_for(use[2], line["resource"])
        }


def row_of(logical_id: str) -> str | None:
    """The row whose role has this logical id: CDK writes the construct's path without punctuation and adds a hash."""
    for row in (*FUNCTIONS, *MACHINES):
        if re.fullmatch(re.escape(row.replace("_", "")) + "Role[0-9A-F]{8}", logical_id):
            return row
    return None


def stands_for(resource: str, arn: str) -> bool:
    """Whether the table's `resource` is the thing with this ARN, in whichever environment."""
    kind, _, name = resource.partition(":")
    name = name if kind in ("table", "index", "parameter", "queue") else name.replace("_", "-")
    return re.fullmatch(_ARNS[kind].format(re.escape(name)), arn) is not None


def _pairs(grant: Grant) -> Iterator[tuple[str, str]]:
    return ((action, resource) for action in grant.actions for resource in grant.resources)
