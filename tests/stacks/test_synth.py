"""The whole app as people run it: every environment, strict, with CloudFormation's own checks, and always the same."""

from __future__ import annotations

import filecmp
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.demo.assembly import synthesize
from stacks.constructs.code import ROOT
from tests.stacks import conftest

ENVIRONMENTS = sorted(path.stem for path in (ROOT / "environments").glob("*.toml"))


def _cdk(*arguments: str) -> subprocess.CompletedProcess[str]:
    beside = Path(sys.executable).parent
    variables = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"}
    command = [str(ROOT / "node_modules/.bin/cdk"), *arguments]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_environment_synthesizes_strictly_and_lints(environment: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = _cdk("synth", "--strict", "-q", "--no-lookups", "-c", f"environment={environment}", "-o", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    templates = sorted(str(path) for path in out.glob("*.template.json"))
    assert len(templates) == 5
    short = synthesize(environment)  # what the demo deploys is what the CDK command would
    assert filecmp.cmpfiles(out, short, [Path(name).name for name in templates], shallow=False)[1:] == ([], [])
    lint = [
        str(Path(sys.executable).with_name("cfn-lint")),
        "--config-file",
        str(ROOT / ".cfnlintrc.yaml"),
        "--",
        *templates,
    ]
    linted = subprocess.run(lint, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert linted.returncode == 0, linted.stdout


@pytest.mark.slow
def test_environment_has_to_be_named() -> None:
    done = _cdk("synth", "-q", "-c", "environment=nowhere")
    assert done.returncode != 0
    assert "no environment 'nowhere': say -c environment=NAME, one of" in done.stdout + done.stderr


def test_two_synths_are_alike(tmp_path: Path) -> None:
    first, second = (conftest.synthesize(conftest.make_deployment(), tmp_path / name) for name in ("a", "b"))
    names = [path.name for path in first.glob("*.template.json")] + ["manifest.json"]
    assert filecmp.cmpfiles(first, second, names, shallow=False)[0] == names


def test_every_acknowledged_finding_has_a_reason(assembly: Path) -> None:
    report = json.loads((assembly / "validation-report.json").read_text())
    acknowledged = [
        violation for plugin in report["pluginReports"] for violation in plugin.get("suppressedViolations", ())
    ]
    assert acknowledged
    assert not [plugin["violations"] for plugin in report["pluginReports"] if plugin["violations"]]
    for violation in acknowledged:
        assert len(violation["reason"]) > 20
