"""The house rules that a machine can check: who imports whom, how long a module is, what the locks hold."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("roundhouse", "functions", "stacks", "simulator", "benchmarks", "scripts")
MODULES = [ROOT / "app.py", *sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))]
LOCKS = ("requirements.txt", "requirements-lambda.txt", "simulator/requirements.txt", "package-lock.json")


def test_imports_go_one_way() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_is_short_and_says_what_it_is(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= 400, "a module over 400 lines wants a division"
    if lines:
        assert lines[0].startswith(('"""', 'r"""')), "the first line says what the module is"


def test_app_is_one_screen() -> None:
    assert len((ROOT / "app.py").read_text().splitlines()) < 40


@pytest.mark.parametrize("name", LOCKS)
def test_lock_names_no_host(name: str) -> None:
    text = (ROOT / name).read_text()
    assert '"resolved"' not in text
    assert not re.search(r"--(extra-)?index-url|--find-links|@ https?://", text)


def test_every_pin_of_the_project_is_in_the_lock() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = _pins("requirements.txt")
    for extra, wanted in project["optional-dependencies"].items():
        for requirement in wanted:
            name, version = requirement.split("==")
            assert locked.get(_plain(name)) == version, f"extra {extra}"


def test_layer_lock_is_the_lambda_extra_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    given = set(re.findall(r"^[\w-]+==\S+", (ROOT / "requirements-lambda.in").read_text(), re.MULTILINE))
    assert given == set(project["optional-dependencies"]["lambda"])
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements-lambda.txt").read_text())
    assert all("--hash=sha256:" in entry for entry in entries if re.match(r"[\w-]+==", entry))


def test_layer_and_tests_run_the_same_versions() -> None:
    everything = _pins("requirements.txt")
    assert {name: everything.get(name) for name in _pins("requirements-lambda.txt")} == _pins("requirements-lambda.txt")


def test_node_tools_are_pinned_and_private() -> None:
    package = json.loads((ROOT / "package.json").read_text())
    assert package["private"] is True
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["devDependencies"].values())


def _pins(name: str) -> dict[str, str]:
    return {
        _plain(package): version
        for package, version in re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(), re.MULTILINE)
    }


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
