"""A deployment in memory, and the command run as from a shell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from rich.console import Console

from roundhouse.cli import main as cli_main
from roundhouse.cli.main import main
from roundhouse.cli.wiring import ENVIRONMENTS, Deployment
from roundhouse.environment import load
from tests.fakes.functions import FakeFunctions
from tests.fakes.queues import FakeOutbox
from tests.fakes.records import FakeBreaker, FakeControl, FakeIncidents, FakeRehearsals, FakeRuns
from tests.fakes.workflows import FakeWorkflows

CALLER = "arn:aws:sts::111122223333:assumed-role/operators/sam"


class MemoryDeployment(Deployment):
    """The demo environment over in-memory ports. Its caller has the right account."""

    def check_account(self) -> None:
        return

    def caller(self) -> str:
        return CALLER


def in_memory() -> MemoryDeployment:
    deployment = MemoryDeployment(load(ENVIRONMENTS / "demo.toml"))
    ports = {
        "incidents": FakeIncidents(),
        "runs": FakeRuns(),
        "rehearsals": FakeRehearsals(),
        "control": FakeControl(),
        "breaker": FakeBreaker(),
        "outbox": FakeOutbox(),
        "workflows": FakeWorkflows(),
        "functions": FakeFunctions(),
    }
    deployment.__dict__.update(ports)  # where cached_property keeps what it made
    return deployment


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def deployment(monkeypatch: pytest.MonkeyPatch) -> MemoryDeployment:
    """What every command that names an environment gets."""
    made = in_memory()
    monkeypatch.setattr(Deployment, "named", classmethod(lambda _, __: made))
    return made


@pytest.fixture(autouse=True)
def wide_consoles(monkeypatch: pytest.MonkeyPatch) -> None:
    """120 columns: a console keeps the width of the moment when its module was first imported, by whichever test."""
    monkeypatch.setattr(cli_main, "out", Console(highlight=False, width=120))
    monkeypatch.setattr(cli_main, "err", Console(stderr=True, highlight=False, width=120))


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """`shell("env", "check")`: the command's exit code and what it printed, 120 columns wide."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["roundhouse", *arguments])
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        else:
            code = 0
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return run
