"""Keeps what IAM decided about roles of the deployed templates, and what those roles were given.

`granted` lines hold a role's policies as they were deployed, `used` lines each (action, resource) that a role was
allowed or denied for the first time. They go to a file as JSON lines when the launcher is given a folder for them; the
counts of all decisions are there in any case. Only the role's own policies count: what a resource's policy adds is not
a grant. Roles that no template made are counted under their name alone.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

Decision = tuple[str, str, str, bool]
"""Role name, action, resource ARN, whether it was allowed."""


class Decisions:
    """The decisions of one embedded AWS. Safe between threads."""

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[Decision] = Counter()
        self._roles: dict[str, tuple[str, str]] = {}
        self._path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)

    def grant(self, role: str, stack: str, logical_id: str, statements: list[Any]) -> None:
        """A template made `role`, or changed its inline policies to these statements."""
        with self._lock:
            self._roles[role] = (stack, logical_id)
            self._write("granted", role, statements=statements)

    def note(self, principal: str, action: str, resource: str, allowed: bool) -> None:
        """IAM decided about a call by `principal`, the ARN of a role or of its session. Others are not kept."""
        role = role_of(principal)
        if role is None:
            return
        decision = (role, action, resource, allowed)
        with self._lock:
            self._counts[decision] += 1
            if self._counts[decision] == 1:
                self._write("used", role, action=action, resource=resource, allowed=allowed)

    def counts(self) -> list[dict[str, Any]]:
        """Every decision with how often it was made, and the stack and logical id of its role ('' if no template's)."""
        with self._lock:
            found = []
            for (role, action, resource, allowed), times in self._counts.items():
                stack, logical_id = self._roles.get(role, ("", ""))
                found.append(
                    {
                        "role": role,
                        "stack": stack,
                        "logical_id": logical_id,
                        "action": action,
                        "resource": resource,
                        "allowed": allowed,
                        "times": times,
                    }
                )
            return found

    def _write(self, kind: str, role: str, **more: Any) -> None:
        if self._path is None:
            return
        stack, logical_id = self._roles.get(role, ("", ""))
        line = {"kind": kind, "role": role, "stack": stack, "logical_id": logical_id, **more}
        with self._path.open("a") as file:  # at once: a launcher that is killed has told all that it saw
            file.write(json.dumps(line) + "\n")


def role_of(principal: str) -> str | None:
    """The role's name in the ARN of a role or of a session of one; None for anybody else."""
    kind, _, rest = principal.rpartition(":")[2].partition("/")
    if kind == "assumed-role":
        return rest.partition("/")[0]
    return rest.rpartition("/")[2] if kind == "role" else None


_deciding: ContextVar[list[Any] | None] = ContextVar("deciding", default=None)


@contextmanager
def about_caller() -> Iterator[None]:
    """The first evaluation inside is one of the caller's own policies, and is kept; further ones are of resources'."""
    token = _deciding.set([])
    try:
        yield
    finally:
        _deciding.reset(token)


def install(decisions: Decisions) -> None:
    """Listen to MiniStack's evaluator, and to CloudFormation where it makes roles."""
    from ministack.core import iam_evaluator
    from ministack.services.cloudformation import provisioners

    enforce, evaluate = iam_evaluator.enforce, iam_evaluator.evaluate

    def enforce_and_note(*given: Any, **named: Any) -> Any:
        with about_caller():
            return enforce(*given, **named)

    def evaluate_and_note(ctx: Any, policies: Any, *limits: Any) -> Any:
        result = evaluate(ctx, policies, *limits)
        seen = _deciding.get()
        if seen is not None and not seen:
            seen.append(ctx)
            decisions.note(ctx.principal_arn, ctx.action, ctx.resource_arn, result.decision == "Allow")
        return result

    iam_evaluator.enforce = enforce_and_note
    iam_evaluator.evaluate = evaluate_and_note
    provisioners._RESOURCE_HANDLERS["AWS::IAM::Role"] = _telling(
        provisioners._RESOURCE_HANDLERS["AWS::IAM::Role"], decisions
    )


def _telling(handlers: dict[str, Any], decisions: Decisions) -> dict[str, Any]:
    create = handlers["create"]

    def create_role(logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        made = create(logical_id, properties, stack)
        statements = [
            statement
            for policy in properties.get("Policies") or []
            for statement in policy["PolicyDocument"]["Statement"]
        ]
        decisions.grant(str(made[0]), stack, logical_id, statements)
        return made

    return {**handlers, "create": create_role}
