"""Exit codes as documented: 0 done, 1 problems, 2 wrong usage, 3 refused by a guard, 4 AWS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from roundhouse.cli import incidents as incident_commands
from roundhouse.cli.wiring import Deployment
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import (
    AccessDenied,
    AlreadyRunning,
    BadInput,
    EnvironmentInvalid,
    Refused,
    RoundhouseError,
    SlackUnavailable,
    StoreFailure,
    Throttled,
)
from tests.cli.conftest import CALLER, Ended, MemoryDeployment

Shell = Callable[..., Ended]

ERRORS: list[tuple[RoundhouseError, int, str]] = [
    (EnvironmentInvalid("x.toml has 2 problems:"), 1, "x.toml has 2 problems:"),
    (BadInput("no such thing"), 2, "error: no such thing"),
    (Refused("the breaker is open"), 3, "refused: the breaker is open"),
    (AlreadyRunning("another creation"), 3, "refused: another creation"),
    (AccessDenied("dynamodb:Query is missing"), 4, "AWS: dynamodb:Query is missing"),
    (Throttled("slow down"), 4, "AWS: slow down"),
    (StoreFailure("table away"), 1, "error: table away"),
    (SlackUnavailable("502"), 1, "error: 502"),
]


@pytest.mark.parametrize(("error", "code", "line"), ERRORS, ids=[type(error).__name__ for error, _, _ in ERRORS])
def test_a_deliberate_error_is_one_line_and_its_code(
    error: RoundhouseError,
    code: int,
    line: str,
    deployment: MemoryDeployment,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(incident_commands, "listing", fail)
    ended = shell("incidents", "-e", "demo")
    assert (ended.code, ended.err.strip()) == (code, line)
    assert ended.out == ""


def test_an_error_of_ours_stays_a_traceback(
    deployment: MemoryDeployment, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(incident_commands, "listing", fail)
    with pytest.raises(ZeroDivisionError):
        shell("incidents", "-e", "demo")


@pytest.mark.parametrize(
    "arguments",
    [
        ("incidents",),  # no environment
        ("explain", "-e", "demo"),  # no incident
        ("pause", "-e", "demo"),  # no reason
        ("no-such-command",),
        ("env", "show"),
        ("status", "-e", "nowhere"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_2(arguments: tuple[str, ...], shell: Shell) -> None:
    assert shell(*arguments).code == 2


def test_the_environment_may_come_from_the_shell(
    deployment: MemoryDeployment, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDHOUSE_ENVIRONMENT", "demo")
    assert shell("incidents").code == 0


def test_a_bad_environment_file_is_1_and_lists_everything(tmp_path: Path, shell: Shell) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('name = "x"\n')
    ended = shell("env", "show", str(path))
    assert ended.code == 1
    assert "account: this is required and missing" in ended.err
    assert "groups: this is required and missing" in ended.err


def test_messages_keep_their_square_brackets(
    deployment: MemoryDeployment, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Refused("drained for [root@mgmt] maintenance [/x]")

    monkeypatch.setattr(incident_commands, "listing", fail)
    assert "[root@mgmt] maintenance [/x]" in shell("incidents", "-e", "demo").err


# The commands that change something ------------------------------------------------------------------------------
def test_pause_and_resume_keep_who_and_why_and_tell_it(deployment: MemoryDeployment, shell: Shell) -> None:
    assert shell("pause", "-e", "demo", "--why", "network work").code == 0
    switch = deployment.control.pause()
    assert switch is not None
    assert (switch.by, switch.why) == (CALLER, "network work")
    again = shell("pause", "-e", "demo", "--why", "me too")
    assert again.code == 3
    assert "network work" in again.err, "the first reason stays"
    assert shell("resume", "-e", "demo", "--why", "done").code == 0
    assert deployment.control.pause() is None
    assert shell("resume", "-e", "demo", "--why", "done").code == 3
    told = deployment.outbox.notices  # type: ignore[attr-defined]
    assert [notice.kind for notice in told] == [NoticeKind.PAUSED, NoticeKind.RESUMED]
    assert [notice.text for notice in told] == ["network work", "done"]


def test_create_starts_the_run_once(deployment: MemoryDeployment, shell: Shell) -> None:
    assert shell("create", "-e", "demo", "--run-id", "first", "--no-watch").code == 0
    machine, payload = deployment.workflows.started["first"]  # type: ignore[attr-defined]
    assert machine == "arn:aws:states:us-west-2:111122223333:stateMachine:roundhouse-demo-create-cluster"
    assert payload == {"run_id": "first"}
    assert shell("create", "-e", "demo", "--run-id", "first", "--no-watch").code == 3


def test_create_is_refused_while_paused(deployment: MemoryDeployment, shell: Shell) -> None:
    shell("pause", "-e", "demo", "--why", "moving house")
    ended = shell("create", "-e", "demo", "--no-watch")
    assert ended.code == 3
    assert "moving house" in ended.err
    assert deployment.workflows.started == {}  # type: ignore[attr-defined]


def test_credentials_of_another_account_are_refused(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "arn:aws:sts::444455556666:assumed-role/operators/sam"
    monkeypatch.setattr("roundhouse.aws.identity.caller_arn", lambda _: other)
    monkeypatch.setattr(Deployment, "client", lambda *_: None)
    ended = shell("pause", "-e", "demo", "--why", "x")
    assert ended.code == 2
    assert "444455556666" in ended.err
    assert "111122223333" in ended.err
