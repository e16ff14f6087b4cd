"""Roundhouse's own calls that change something, out of the call log: who called, about what, with what result. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from simulator.demo.report.data import CallView

Json = dict[str, Any]
NAMED = 3  # instance ids told one by one; of more only the number


def call_views(calls: Iterable[Json], environments: Sequence[str]) -> tuple[CallView, ...]:
    """Calls of the log, in order. One name may begin another (`demo`, `demo-wrong-az`): the longer one wins."""
    return tuple(_view(call, environments) for call in calls)


def _view(call: Json, environments: Sequence[str]) -> CallView:
    session = str(call["principal"]).rpartition("/")[2].removeprefix("roundhouse-")
    mine = [name for name in environments if session.startswith(f"{name}-")]
    environment = max(mine, key=len, default="")
    result, ok = _result(call)
    return CallView(
        at=datetime.fromisoformat(call["time"]),
        environment=environment,
        cluster=str(call["params"].get("ClusterName", "")),
        by=session.removeprefix(f"{environment}-").replace("-", "_"),
        operation=str(call["operation"]),
        about=_about(call["params"]),
        result=result,
        ok=ok,
    )


def _about(params: Json) -> str:
    """What a call is about, in a few words."""
    if groups := params.get("InstanceGroups"):
        counts = [f"{g.get('InstanceCount')} {g.get('InstanceGroupName')}" for g in groups]
        plans = sum("TrainingPlanArn" in group for group in groups)
        return ", ".join(counts) + (f"; training plan on {plans} group{'s' * (plans > 1)}" if plans else "")
    if added := params.get("NodesToAdd"):
        return ", ".join(f"+{n.get('IncrementTargetCountBy')} {n.get('InstanceGroupName')}" for n in added)
    named = [*(params.get("NodeIds") or []), *(params.get("NodeLogicalIds") or [])]
    if len(named) > NAMED:
        return f"{len(named)} nodes"
    return ", ".join(str(each) for each in named) or str(params.get("ClusterName", ""))


def _result(call: Json) -> tuple[str, bool]:
    """In words, and whether it is a success."""
    if error := call.get("error"):
        return str(error.get("code", error) if isinstance(error, dict) else error), False
    failed = (call.get("result") or {}).get("Failed") or []
    if failed:
        codes = sorted({str(each.get("ErrorCode", each.get("Code", "refused"))) for each in failed})
        return f"{len(failed)} refused: {', '.join(codes)}", False
    return ("done, but the answer was lost" if call.get("answer_lost") else "accepted"), True
