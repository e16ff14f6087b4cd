"""What is uploaded: the staged code with the built layer runs by itself, with nothing of this environment beside it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stacks.constructs import code
from stacks.constructs.code import ROOT, build_layer, layer_hash
from tests.stacks.templates import Templates

IMPORT_ALL = """
import importlib, importlib.util, json, os, sys
functions = json.load(sys.stdin)
for name, variables in functions.items():
    for key in [key for key in os.environ if key.isupper() and key != "PATH"]:
        del os.environ[key]
    os.environ.update(variables, AWS_REGION="us-west-2")
    handler = importlib.import_module(f"functions.{name}.handler")
    assert callable(handler.handle), name
    if importlib.util.find_spec(f"functions.{name}.settings"):
        settings = importlib.import_module(f"functions.{name}.settings")
        settings.Settings.from_env(dict(os.environ))
for package in ("roundhouse.aws", "roundhouse.slack"):
    folder = importlib.import_module(package).__path__[0]
    for file in sorted(os.listdir(folder)):
        if file.endswith(".py"):
            importlib.import_module(f"{package}.{file[:-3]}")
import boto3, slack_sdk
print(boto3.__file__)
"""


def _code_asset(assembly: Path) -> Path:
    (folder,) = [path for path in assembly.glob("asset.*") if (path / "functions").is_dir()]
    return folder


@pytest.mark.slow
def test_every_handler_imports_from_the_asset_and_the_layer_alone(assembly: Path, templates: Templates) -> None:
    functions = {
        each["Handler"].split(".")[1]: {key: str(value) for key, value in each["Environment"]["Variables"].items()}
        for each in templates.properties("AWS::Lambda::Function")
    }
    layer = build_layer() / "python"
    program = f"import sys; sys.path[:0] = [{str(_code_asset(assembly))!r}, {str(layer)!r}]\n{IMPORT_ALL}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-W", "ignore", "-c", program],
        input=json.dumps(functions),
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(layer))


def test_asset_holds_what_runs_and_nothing_else(assembly: Path) -> None:
    asset = _code_asset(assembly)
    files = {str(path.relative_to(asset)) for path in asset.rglob("*") if path.is_file()}
    assert {name.split("/")[0] for name in files} == {"functions", "roundhouse"}
    assert not [name for name in files if "__pycache__" in name]
    assert not [name for name in files if name.startswith(("roundhouse/cli", "roundhouse/environment"))]
    handlers = {str(path.relative_to(ROOT)) for path in (ROOT / "functions").glob("*/handler.py")}
    assert handlers <= files


@pytest.mark.slow
def test_layer_is_pure_python_and_free_of_what_differs_between_machines() -> None:
    layer = build_layer()
    files = [path for path in layer.rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix == ".so"]
    assert not [path for path in files if path.name in {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}]
    assert not [path for path in files if str(ROOT).encode() in path.read_bytes()]
    packages = {path.name.split("-")[0].lower() for path in layer.glob("python/*.dist-info")}
    locked = re.findall(r"^([\w-]+)==", (ROOT / "requirements-lambda.txt").read_text(), re.MULTILINE)
    assert packages == {name.replace("-", "_") for name in locked}


def test_layer_hash_follows_the_lock_the_target_and_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = {layer_hash()}
    with monkeypatch.context() as patch:
        patch.setattr(code, "_PYTHON", "3.14")
        hashes.add(layer_hash())
    with monkeypatch.context() as patch:
        patch.setattr(code, "_RECIPE", "another")
        hashes.add(layer_hash())
    lock = tmp_path / "lock.txt"
    lock.write_text(code.LOCK.read_text() + "\n")
    monkeypatch.setattr(code, "LOCK", lock)
    hashes.add(layer_hash())
    assert len(hashes) == 4


def test_every_stack_uploads_the_same_two_assets(assembly: Path) -> None:
    keys = {path.name: set(json.loads(path.read_text())["files"]) for path in assembly.glob("*.assets.json")}
    with_functions = [
        {key for key in files if not key.endswith(".template.json")}
        for name, files in keys.items()
        if "State" not in name and "Monitoring" not in name
    ]
    assert len(with_functions) == 3
