"""Every status that a step can return is meant to go where the Choice after it sends it.

The statuses are read from the steps' own source, so a new one fails here until somebody has decided where it goes.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roundhouse.line.decision import Verdict
from roundhouse.steps.creation import adding, creating, finish, launch, plan, preflight, stage, stop
from roundhouse.steps.legacy import updating
from roundhouse.steps.maintenance import mind
from roundhouse.steps.people import questions as people
from roundhouse.steps.rehearsal import begin as rehearsal_begin
from roundhouse.steps.rehearsal import end as rehearsal_end
from roundhouse.steps.rehearsal import look as rehearsal_look
from roundhouse.steps.repair import act, close, cordon, decide, prove, watch
from tests.steps import asl

VALUES = (("cluster_name", "train"), ("controller_timeout_s", "3600"), ("poll_s", "60"))
DECISIONS = {verdict.value for verdict in Verdict}

# Task state → the Choice after it → status → the state that it leads to.
CREATE: dict[str, dict[str, str]] = {
    "PlanStage": {
        "create": "Launch",
        "add": "Launch",
        "wait_controller": "ReadController",
        "wait": "WaitToPlan",
        "watch": "WatchStage",
        "done": "Finish",
        "refused": "Finish",
        "discard": "RollBack",
    },
    "Launch": {
        "wait_controller": "ReadController",
        "watch": "WaitForStage",
        "plan": "WaitToPlan",
        "gave_up": "Finish",
        "refused": "Finish",
    },
    "WatchStage": {
        "wait": "WaitForStage",
        "verified": "PlanStage",
        "lost": "StopRamp",
        "unknown": "StopRamp",
        "gave_up": "StopRamp",
    },
    "StopRamp": {"wait": "WaitToStop", "lost": "AskPeople", "unknown": "AskPeople", "gave_up": "Finish"},
    "ReadApproval": {"roll_back": "RollBack", "accept": "PlanStage", "ask_again": "AskPeople", "hold": "Finish"},
    "RollBack": {"wait": "WaitToRollBack", "rolled_back": "Finish", "gave_up": "Finish"},
    "Finish": {"done": "Done", "held": "Done", "rolled_back": "Done", "failed": "Broken"},
}
REMEDIATE: dict[str, dict[str, str]] = {
    "Decide": {
        "wait": "WaitBeforeDeciding",
        "hold": "WaitBeforeDeciding",
        "ask": "Cordon",
        "act": "Cordon",
        "observe": "Resume",
        "nothing": "Resume",
        "human": "Resume",
        "close": "Resume",
    },
    "Cordon": {"hold": "WaitBeforeDeciding", "cordoned": "Act"},
    "ReadApproval": {"approve": "Act", "ask_again": "AskPeople", "deny": "Resume", "outdated": "Decide"},
    "Act": {
        "called": "WaitForNode",
        "wait": "WaitBeforeActing",
        "decide": "WaitBeforeDeciding",
        "deny": "Resume",
        "human": "Resume",
        "gone": "Resume",
        "closed": "Resume",
    },
    "WatchNode": {"running": "Prove", "wait": "WaitForNode", "restore": "RestoreCount", "decide": "Decide"},
    "Prove": {"wait": "WaitBeforeProving", "decide": "Decide", "pass": "Resume", "inconclusive": "Resume"},
    "Close": {"closed": "Done", "decide": "WaitBeforeDeciding"},
}
MAINTAIN: dict[str, dict[str, str]] = {
    "Mind": {
        "wait": "WaitToMind",
        "ask": "AskPeople",
        "act": "Cordon",
        "release": "Release",
        "returned": "Resume",
        "human": "Resume",
        "close": "Resume",
    },
    "ReadApproval": {"approve": "Mind", "ask_again": "AskPeople", "deny": "Resume", "outdated": "Mind"},
}
REHEARSE: dict[str, dict[str, str]] = {
    "BeginRehearsal": {"watch": "WaitForNode", "clear": "ClearLeftover", "wait": "WaitToBegin", "done": "Finished"},
    "ClearLeftover": {"wait": "WaitToClear", "gone": "BeginRehearsal"},
    "WatchRehearsal": {"wait": "WaitForNode", "over": "EndRehearsal"},
    "EndRehearsal": {"wait": "WaitForEnd", "gone": "NextScripts"},
}
MACHINES = {
    "create_cluster": CREATE,
    "remediate_node": REMEDIATE,
    "maintain_node": MAINTAIN,
    "rehearse": REHEARSE,
}
# Tasks whose answer is passed on whatever it says.
STRAIGHT = {
    "create_cluster": {"Preflight", "ReadController", "FinishAfterError", "AskPeople"},
    "maintain_node": {"Cordon", "Release", "Resume", "Close", "CloseAfterError", "AskPeople"},
    "rehearse": set(),
    "remediate_node": {"RestoreCount", "Resume", "CloseAfterError", "AskPeople"},
}


def literal_statuses(*sources: Any) -> set[str]:
    """Every constant that stands under the key `status` in the source of modules or functions."""
    return {found for source in sources for found in _literals(ast.parse(textwrap.dedent(inspect.getsource(source))))}


def _literals(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "status":
                yield from (
                    c.value for c in ast.walk(value) if isinstance(c, ast.Constant) and isinstance(c.value, str)
                )


def returned(machine: str, task: str) -> set[str]:
    """What the step behind a task can say."""
    kinds = set(plan.STATUS.values())
    watched = _words(stage._status)
    by_task: dict[tuple[str, str], set[str]] = {
        ("create_cluster", "PlanStage"): kinds | literal_statuses(plan.answer, plan.plan),
        ("create_cluster", "Launch"): literal_statuses(launch.launch, creating.create, adding.add, updating),
        ("create_cluster", "WatchStage"): literal_statuses(stage.watch) | (watched & set(CREATE["WatchStage"])),
        ("create_cluster", "StopRamp"): literal_statuses(stop.stop_ramp) | (watched - {"verified", "wait"}),
        ("create_cluster", "ReadApproval"): {o.choice for o in (people.ROLL_BACK, people.HOLD, people.ACCEPT)}
        | {"ask_again"},
        ("create_cluster", "RollBack"): literal_statuses(stop.roll_back, stop._discard),
        ("create_cluster", "Finish"): {status for status, _ in finish.ENDINGS.values()} | {"failed"},
        ("maintain_node", "Mind"): set(mind.STATUS.values()) | literal_statuses(mind),
        ("maintain_node", "ReadApproval"): {people.APPROVE.choice, people.DENY.choice, "ask_again", "outdated"},
        ("rehearse", "BeginRehearsal"): literal_statuses(rehearsal_begin),
        ("rehearse", "ClearLeftover"): _answers(rehearsal_end.end),
        ("rehearse", "WatchRehearsal"): literal_statuses(rehearsal_look),
        ("rehearse", "EndRehearsal"): _answers(rehearsal_end.end),
        ("remediate_node", "Decide"): DECISIONS,
        ("remediate_node", "Cordon"): literal_statuses(cordon.cordon),
        ("remediate_node", "ReadApproval"): {people.APPROVE.choice, people.DENY.choice, "ask_again", "outdated"},
        ("remediate_node", "Act"): literal_statuses(act),
        ("remediate_node", "WatchNode"): literal_statuses(watch.watch, watch._wait),
        ("remediate_node", "Prove"): literal_statuses(prove),
        ("remediate_node", "Close"): literal_statuses(close.step),
    }
    return by_task[machine, task]


def _answers(source: Any) -> set[str]:
    """Every constant that is given to `_answer` as the status."""
    calls = [n for n in ast.walk(ast.parse(inspect.getsource(source))) if isinstance(n, ast.Call)]
    given = [c.args[0] for c in calls if isinstance(c.func, ast.Name) and c.func.id == "_answer"]
    branches = [b for each in given for b in ((each.body, each.orelse) if isinstance(each, ast.IfExp) else (each,))]
    return {str(each.value) for each in branches if isinstance(each, ast.Constant)}


def _words(source: Any) -> set[str]:
    """Every constant text of one word in the source."""
    texts = (n.value for n in ast.walk(ast.parse(inspect.getsource(source))) if isinstance(n, ast.Constant))
    return {text for text in texts if isinstance(text, str) and " " not in text}


def states(machine: str) -> dict[str, Any]:
    found: dict[str, Any] = asl.definition(machine, VALUES)["States"]
    return found


def route(machine: str, task: str, status: str) -> str:
    """The state that a task's answer leads to."""
    choice = states(machine)[states(machine)[task]["Next"]]
    scope = {"states": {"input": {"status": status}}, "decision": {"status": "act"}, "polls": 0, "cause": ""}
    taken = next((c for c in choice["Choices"] if asl.evaluate(c["Condition"], scope) is True), None)
    return str(taken["Next"] if taken else choice["Default"])


CASES = [(m, task, status) for m, tasks in MACHINES.items() for task, table in tasks.items() for status in table]


@pytest.mark.parametrize(("machine", "task", "status"), CASES, ids=str)
def test_status_leads_where_it_should(machine: str, task: str, status: str) -> None:
    assert route(machine, task, status) == MACHINES[machine][task][status]


@pytest.mark.parametrize(("machine", "task"), [(m, t) for m, tasks in MACHINES.items() for t in tasks])
def test_table_names_every_status_that_the_step_can_return_and_no_other(machine: str, task: str) -> None:
    assert returned(machine, task) == set(MACHINES[machine][task])


@pytest.mark.parametrize("machine", MACHINES)
def test_every_task_is_in_a_table_or_passed_on_straight(machine: str) -> None:
    tasks = {name for name, state in states(machine).items() if state["Type"] == "Task"}
    assert tasks == set(MACHINES[machine]) | STRAIGHT[machine]


def test_asked_policy_asks_after_the_drain() -> None:
    choice = states("remediate_node")["ApprovalNeeded"]
    scope = {"states": {"input": {"status": "cordoned"}}, "decision": {"status": "ask"}}
    taken = next(c for c in choice["Choices"] if asl.evaluate(c["Condition"], scope) is True)
    assert taken["Next"] == "AskPeople"


def test_what_ends_a_creation_has_words_for_its_end() -> None:
    ends = {
        status for task, table in CREATE.items() for status, to in table.items() if to == "Finish" and task != "Finish"
    }
    assert ends | {"error"} == set(finish.ENDINGS)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_circle_waits(machine: str) -> None:
    """No way around leads back without a Wait or a task that waits for people: it would spin."""
    edges = {name: _next(state) for name, state in states(machine).items()}
    resting = {
        n for n, s in states(machine).items() if s["Type"] == "Wait" or "waitForTaskToken" in s.get("Resource", "")
    }
    # These go round at most once: what a look has just found changes what the next plan says.
    once = {("StageState", "PlanStage"), ("Answer", "PlanStage"), ("NodeBack", "Decide"), ("Proved", "Decide")}
    once |= {("Cleared", "BeginRehearsal"), ("NextScripts", "BeginRehearsal")}  # something is gone; the next scripts

    def circles(name: str, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if name in path:
            yield (*path[path.index(name) :], name)
            return
        if name in resting:
            return
        for to in edges[name]:
            if (name, to) not in once:
                yield from circles(to, (*path, name))

    assert [circle for name in edges for circle in circles(name, ())] == []


def _next(state: dict[str, Any]) -> list[str]:
    holders = (state, *state.get("Choices", ()), *state.get("Catch", ()))
    return [holder["Next"] for holder in holders if "Next" in holder] + [state[k] for k in ("Default",) if k in state]


@pytest.mark.parametrize("machine", MACHINES)
def test_every_lambda_task_is_tried_again_when_its_process_dies_and_catches_the_rest(machine: str) -> None:
    for name, state in states(machine).items():
        if state["Type"] != "Task" or "lambda:invoke" not in state["Resource"]:
            continue
        retried = {error for rule in state["Retry"] for error in rule["ErrorEquals"]}
        expected = {"Throttled", "Unavailable", "ConditionFailed", "Lambda.Unknown", "Sandbox.Timedout"}
        assert expected <= retried, name
        assert "States.ALL" in {error for rule in state["Catch"] for error in rule["ErrorEquals"]}, name


def test_preflight_speaks_of_one_status() -> None:
    assert literal_statuses(preflight.preflight) == {"passed"}
    assert literal_statuses(decide.plain) == set()


def test_machines_are_the_ones_in_the_folder() -> None:
    folder = Path(asl.FOLDER)
    assert {path.name.split(".")[0] for path in folder.glob("*.asl.json")} == set(MACHINES)
    assert all(json.loads(path.read_text())["QueryLanguage"] == "JSONata" for path in folder.glob("*.asl.json"))
