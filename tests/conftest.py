"""For every test: no way to a real AWS, and in CI no test that is quietly skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import stacks  # noqa: F401 (names a Node that jsii supports, before anything imports aws_cdk)

_FAKE = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
_OURS = ("AWS_", "ROUNDHOUSE_", "POWERTOOLS_", "SLACK_")


def pytest_configure(config: pytest.Config) -> None:
    """What session fixtures and subprocesses inherit."""
    config.addinivalue_line("markers", "slow: takes more than ten seconds; -m 'not slow' leaves it out")
    config.addinivalue_line("markers", "alone: runs a whole house on a fast clock, so nothing else may run beside it")
    config.addinivalue_line("markers", "last: looks at what the whole run has left behind, so it comes after it")
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        del os.environ[name]
    os.environ.update(_FAKE)


@pytest.fixture(autouse=True)
def isolated_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only fake credentials, and no setting of ours from the shell or from another test."""
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        monkeypatch.delenv(name)
    for name, value in _FAKE.items():
        monkeypatch.setenv(name, value)


def _fail_a_skip(report: Any) -> None:
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"In CI nothing may be skipped, but this was: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    _fail_a_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report = yield
    _fail_a_skip(report)
    return report
