"""`incidents` and `explain`: what a person reads of a record."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from roundhouse import codec
from roundhouse.cli.incidents import story
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Attempt, Evidence, Incident, IncidentState, Outcome, Step
from roundhouse.line.ladder import Rung
from tests.cli.conftest import Ended, MemoryDeployment

T0 = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
OLD, NEW = "i-0aaaaaaaaaaaaaaa1", "i-0bbbbbbbbbbbbbbb2"


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


OPEN = Incident(
    incident_id="inc-0123456789abcdef-1",
    cluster="train-demo",
    instance_id=OLD,
    cause=CauseClass.HARDWARE,
    occurrence=1,
    opened_at=T0,
    last_event_at=at(1),
    group="workers",
    logical_id="node-7",
    slurm_name="ip-10-1-0-7",
    code="NvidiaErrorTerminate",
    event_count=2,
    trusted=True,
    evidence=(Evidence("e1", "hyperpod.node_health", "NvidiaErrorTerminate", "unhealthy", T0, "fault on GPU [3]"),),
    decision="ask: replace is the next rung",
)
REPAIRED = replace(
    OPEN,
    state=IncidentState.CLOSED,
    outcome=Outcome.REPAIRED,
    closed_at=at(45),
    current_instance_id=NEW,
    steps=(
        Step("approval", at(10), at(13), "approve: answered in Slack by U0OPSALICE"),
        Step("repair", at(14), at(38), f"replace {OLD}: HyperPod accepted it"),
        Step("proof", at(38), None, "5 min of quiet"),
    ),
    attempts=(Attempt(Rung.REPLACE, OLD, at(14), "proved"),),
)


def test_a_story_tells_node_evidence_steps_and_end() -> None:
    text = "\n".join(story(REPAIRED))
    for part in (
        "inc-0123456789abcdef-1  ip-10-1-0-7 on train-demo",
        f"instance {OLD}, group workers, cause hardware",
        "2 events, confirmed by AWS",
        "09:00:00 hyperpod.node_health NvidiaErrorTerminate (unhealthy): fault on GPU [3]",
        "ask: replace is the next rung",
        "09:10:00 (3 min) approval: approve: answered in Slack by U0OPSALICE",
        "09:14:00 (24 min) repair",
        "09:38:00 (under way) proof",
        f"09:14:00 replace of {OLD}: proved",
        "Closed: repaired and proved",
        "after 45 min",
        f"the node is now {NEW}, under the same name",
    ):
        assert part in text


def test_what_a_node_says_of_itself_is_marked_so() -> None:
    assert "told by the node alone" in "\n".join(story(replace(OPEN, trusted=False)))


def test_an_open_incident_has_no_end_and_says_what_is_missing() -> None:
    text = "\n".join(story(replace(OPEN, decision="", slurm_name=None, logical_id=None, group=None)))
    assert "none yet" in text
    assert "node on train-demo" in text
    assert "group unknown" in text
    assert "Closed" not in text
    assert "the node is now" not in text


def test_a_reboot_keeps_the_instance_and_is_told_so() -> None:
    rebooted = replace(REPAIRED, current_instance_id=OLD)
    assert "the node is now" not in "\n".join(story(rebooted))


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_words(outcome: Outcome) -> None:
    closed = next(line for line in story(replace(REPAIRED, outcome=outcome)) if line.startswith("Closed: "))
    assert len(closed) > len("Closed: ")


def recent(incident: Incident) -> Incident:
    return replace(incident, opened_at=datetime.now(UTC) - timedelta(hours=1))


Shell = Callable[..., Ended]


def test_explain_prints_the_story(deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.incidents.put(REPAIRED)
    ended = shell("explain", REPAIRED.incident_id, "-e", "demo")
    assert ended.code == 0
    assert "fault on GPU [3]" in ended.out, "square brackets are not markup"
    assert "Closed: repaired and proved" in ended.out


def test_explain_as_json_is_the_whole_record(deployment: MemoryDeployment, shell: Shell) -> None:
    stored = deployment.incidents.put(REPAIRED)
    ended = shell("explain", REPAIRED.incident_id, "-e", "demo", "--json")
    assert codec.from_json(Incident, ended.out) == stored


def test_an_unknown_incident_is_wrong_usage(deployment: MemoryDeployment, shell: Shell) -> None:
    ended = shell("explain", "inc-none-1", "-e", "demo")
    assert ended.code == 2
    assert "inc-none-1" in ended.err


def test_incidents_lists_open_and_closed(deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.incidents.put(recent(OPEN))
    deployment.incidents.put(recent(replace(REPAIRED, incident_id="inc-fedcba9876543210-1")))
    everything = shell("incidents", "-e", "demo", "--json")
    assert [each["outcome"] for each in json.loads(everything.out)] == [None, "repaired"]
    only_open = json.loads(shell("incidents", "-e", "demo", "--open", "--json").out)
    assert [each["incident_id"] for each in only_open] == [OPEN.incident_id]
    table = shell("incidents", "-e", "demo").out
    assert OPEN.incident_id in table, "whole, to be copied"
    assert "repaired and" in table


def test_what_machines_say_cannot_break_the_table(deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.incidents.put(recent(replace(OPEN, code="[/bold]", decision="drained: [root@mgmt]")))
    ended = shell("incidents", "-e", "demo")
    assert ended.code == 0
    assert "[/bold]" in ended.out
    assert "[root@mgmt]" in ended.out


def test_no_incidents_is_said(deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.incidents.put(OPEN)  # long ago
    ended = shell("incidents", "-e", "demo", "--days", "0.5")
    assert (ended.code, ended.out.strip()) == (0, "no incidents of train-demo in the last 0.5 days")


def test_open_incidents_are_listed_however_long_they_wait(deployment: MemoryDeployment, shell: Shell) -> None:
    announced = replace(OPEN, opened_at=datetime.now(UTC) - timedelta(days=30))
    deployment.incidents.put(announced)
    assert announced.incident_id in shell("incidents", "-e", "demo", "--open").out
    assert announced.incident_id not in shell("incidents", "-e", "demo").out
    assert "last 3 days" in shell("incidents", "-e", "demo", "--open", "--days", "3").out
