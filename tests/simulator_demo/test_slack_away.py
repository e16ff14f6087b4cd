"""Slack away, forgetful or out of patience: nothing is lost, nothing is told twice, and `act` does not wait for it."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState
from simulator.demo.house import House
from simulator.demo.stage import ALICE, BOB
from tests.simulator_demo.scenarios import house, scenario, stand

pytestmark = pytest.mark.slow

GPU, CUT_OFF = "NvidiaErrorTerminate", "NetworkUnreachable"
QUICK = {"controller_launch": "1m", "worker_launch": "2m", "lifecycle": "1m"}
Json = dict[str, Any]


def fail(it: House, index: int, fault: str, **how: Any) -> Json:
    """Break the worker of that index; its health event comes unless `how` says otherwise."""
    node: Json = next(n for n in it["small"].workers() if n["index"] == index)
    news = {"health_event": fault == GPU, "log_record": False, "repair_action": "None"} | how
    it.aws.control("fail_node", instance_id=node["instance_id"], fault=fault, **news)
    return node


def incident(it: House, node: Json) -> Incident | None:
    mine = [i for i in it["small"].known() if i.instance_id == node["instance_id"]]
    return next((i for i in mine if i.cause in {CauseClass.HARDWARE, CauseClass.UNREACHABLE}), None)


def outcome(it: House, node: Json) -> str | None:
    found = incident(it, node)
    return str(found.outcome) if found and found.state is IncidentState.CLOSED else None


def posted_twice(it: House) -> list[str]:
    """Notices that stand in the channel more than once."""
    public = [m for m in it.slack.messages() if m["visible_to"] is None]
    told = Counter(m["metadata"]["event_payload"]["notice_id"] for m in public)
    return [notice for notice, times in told.items() if times > 1]


def test_a_question_outlives_an_outage_and_what_needs_no_question_is_repaired_meanwhile(tmp_path: Path) -> None:
    with house("small", scenario("shortage", fault=[], timing=QUICK), tmp_path, scale=600) as it:
        stand(it, "small")
        it.slack.outage(True)
        began = it.aws.now()
        asked, acted = fail(it, 2, GPU), fail(it, 5, CUT_OFF, fixed_by="reboot")
        it.wait("the repair that needs no answer", lambda: outcome(it, acted), 60, lambda: incident(it, acted))
        assert outcome(it, acted) == "repaired"
        it.wait("the question to be stored", lambda: _steps(it, asked) & {"approval"}, 30, lambda: incident(it, asked))
        it.idle(max(timedelta(), began + timedelta(minutes=75) - it.aws.now()))
        assert it.slack.messages() == []
        assert outcome(it, asked) is None
        assert [c["operation"] for c in it.calls()] == ["BatchRebootClusterNodes"]

        it.slack.lose_answers(1)
        it.slack.outage(False)
        question = it.wait("the question", lambda: it.question(asked["instance_id"]), 60)
        it.click(question, "approve", ALICE)
        it.wait("the repair", lambda: outcome(it, asked), 60, lambda: incident(it, asked))
        assert outcome(it, asked) == "repaired"
        assert [c["operation"] for c in it.calls()] == ["BatchRebootClusterNodes", "BatchReplaceClusterNodes"]
        name = acted["hostname"].split(".")[0]
        it.wait("the report of the other repair", lambda: _told(it, "repaired and proved", name), 60)
        it.wait("the end of the question", lambda: it.question(asked["instance_id"]) is None, 60)
        assert posted_twice(it) == []


def test_a_lost_answer_posts_nothing_twice_and_retry_after_is_honoured(tmp_path: Path) -> None:
    with house("small", scenario("shortage", fault=[], timing=QUICK), tmp_path, scale=120) as it:
        stand(it, "small")
        it.slack.lose_answers(1)
        node = fail(it, 3, GPU)
        it.wait("a message whose answer is lost", lambda: _outcomes(it)["ok, answer lost"], 60)
        question = it.wait("the question", lambda: it.question(node["instance_id"]), 60)
        it.slack.rate_limit(1, 3.0, methods=("chat.update", "chat.postMessage"))
        it.click(question, "deny", BOB)
        it.wait("the end", lambda: outcome(it, node), 30, lambda: incident(it, node))
        assert outcome(it, node) == "denied"
        it.wait("the buttons to go", lambda: it.question(node["instance_id"]) is None, 60)
        calls = it.slack.calls()
        refused = next(n for n, call in enumerate(calls) if call["outcome"] == "rate_limited")
        assert calls[refused + 1]["at"] - calls[refused]["at"] >= 3.0
        assert posted_twice(it) == []
        assert it.calls() == []


def _steps(it: House, node: Json) -> set[str]:
    found = incident(it, node)
    return {step.name for step in found.steps} if found else set()


def _told(it: House, *words: str) -> bool:
    return any(all(word in m["text"] + str(m.get("blocks")) for word in words) for m in it.slack.messages())


def _outcomes(it: House) -> Counter[str]:
    return Counter(call["outcome"] for call in it.slack.calls())
