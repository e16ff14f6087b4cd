"""A creation asks for a rehearsal of the very scripts that are there, or for a reason; both are remembered and told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roundhouse.build.rehearsal import Rehearsal, Result, cluster_name
from roundhouse.build.scripts import digest, scripts_of
from roundhouse.build.spec import RehearsalTerms
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import AccessDenied
from tests.steps.asl import Execution
from tests.steps.samples import cluster_spec, empty_account
from tests.steps.world import T0, World

ADDRESS = "s3://sagemaker-unit/lifecycle/on_create.sh"
WHY = {"why": "the window closes tonight", "by": "sam"}


def careful(**changes: Any) -> World:
    return empty_account(cluster_spec(rehearsal=RehearsalTerms(required=True), **changes))


def rehearsed(world: World, result: Result = Result.PASSED) -> Rehearsal:
    """What a rehearsal of the scripts as they are now leaves."""
    [scripts] = scripts_of(world.spec)
    files = tuple(world.surroundings.lifecycle_files(scripts.s3_uri))
    content = digest(scripts, files)
    record = Rehearsal(
        environment="unit",
        rehearsal_id="r-1",
        scripts=scripts,
        digest=content,
        files=files,
        cluster=cluster_name("train", content),
        instance_type="ml.m5.xlarge",
        started_at=T0,
        looked_at=T0,
        result=result,
        reason="as said",
        ended_at=T0,
    )
    world.rehearsals.put(record)
    world.rehearsals.keep(record)
    return record


def create(world: World, given: dict[str, Any] | None = None, run_id: str = "run-1") -> Execution:
    execution = world.begin("create_cluster", run_id, {"unrehearsed": given} if given is not None else {})
    world.run()
    return execution


def refused(world: World, execution: Execution, words: str) -> None:
    assert execution.status == "FAILED"
    assert world.cluster.calls == []
    [told] = world.told(NoticeKind.RUN_STOPPED)
    assert words in told.text, told.text
    run = world.runs.get("train")
    assert run is not None
    assert (run.status, run.unrehearsed) == ("failed", "")


def test_scripts_that_passed_are_taken() -> None:
    world = careful()
    rehearsed(world)
    execution = create(world)
    assert execution.output["status"] == "done", execution.errors
    [told] = world.told(NoticeKind.RUN_STARTED)
    assert "Lifecycle scripts" not in told.facts


def test_scripts_that_nobody_has_rehearsed_are_refused_with_what_to_do() -> None:
    world = careful()
    execution = create(world)
    refused(world, execution, "they have never been rehearsed as they are now")
    assert "roundhouse rehearse -e unit" in world.told(NoticeKind.RUN_STOPPED)[0].text


@pytest.mark.parametrize("result", [Result.FAILED, Result.INCONCLUSIVE])
def test_a_rehearsal_that_did_not_pass_is_no_pass(result: Result) -> None:
    world = careful()
    rehearsed(world, result)
    refused(world, create(world), f"their rehearsal was {result.value}")


def test_a_file_that_was_changed_since_is_named() -> None:
    world = careful()
    rehearsed(world)
    world.surroundings.contents[ADDRESS] = b"exit 1"
    refused(world, create(world), "changed: on_create.sh")


def test_files_that_cannot_be_read_prove_nothing() -> None:
    world = careful()
    rehearsed(world)

    def deny(s3_uri: str) -> Any:
        raise AccessDenied("s3:GetObject")

    world.surroundings.lifecycle_files = deny  # type: ignore[method-assign]
    refused(world, create(world), "could not be read: AccessDenied")


def test_a_reason_lets_it_through_and_is_kept_and_told() -> None:
    world = careful()
    execution = create(world, WHY)
    assert execution.output["status"] == "done", execution.errors
    run = world.runs.get("train")
    assert run is not None
    assert run.unrehearsed == "the window closes tonight (sam)"
    [told] = world.told(NoticeKind.RUN_STARTED)
    assert told.facts["Lifecycle scripts"] == "NOT rehearsed: the window closes tonight (sam)"


@pytest.mark.parametrize("given", [{"why": "hurry", "by": "sam"}, {"why": "the window closes tonight", "by": ""}])
def test_a_reason_that_says_too_little_is_refused_whoever_starts_the_workflow(given: dict[str, str]) -> None:
    world = careful()
    refused(world, create(world, given), "takes a reason of at least 10 characters")


def test_the_next_run_needs_a_rehearsal_or_a_reason_of_its_own() -> None:
    world = careful()
    create(world, WHY)
    second = create(world, run_id="run-2")
    assert second.status == "FAILED"
    rehearsed(world)
    third = create(world, run_id="run-3")
    assert third.output["status"] == "done", third.errors
    run = world.runs.get("train")
    assert run is not None
    assert run.unrehearsed == ""


def test_an_environment_that_does_not_ask_for_it_does_not_look() -> None:
    world = empty_account()
    world.surroundings.lifecycle_files = None  # type: ignore[assignment, method-assign]
    assert replace(world.spec.rehearsal, required=True) != world.spec.rehearsal
    assert create(world).output["status"] == "done"
