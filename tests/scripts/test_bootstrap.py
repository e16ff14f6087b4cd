"""The bootstrap makes each part once, again when its inputs change, and says plainly what went wrong."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "scripts" / "bootstrap.py"


@pytest.fixture
def bootstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, at work in a folder of its own."""
    spec = importlib.util.spec_from_file_location("bootstrap", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def _step(bootstrap: ModuleType, root: Path, program: str) -> object:
    (root / "lock").write_text("one")
    command = [sys.executable, "-c", program]
    return bootstrap.Step("Part", root / "stamp", [root / "lock"], lambda: [command])


def test_part_is_made_once_and_again_when_its_lock_changes(bootstrap: ModuleType, tmp_path: Path) -> None:
    step = _step(bootstrap, tmp_path, "open('runs', 'a').write('x')")
    assert not step.is_done()
    step.run("Part")
    assert step.is_done()
    (tmp_path / "lock").write_text("two")
    assert not step.is_done()
    step.run("Part")
    assert step.is_done()
    assert (tmp_path / "runs").read_text() == "xx"


def test_failure_shows_what_the_command_said_and_leaves_no_stamp(
    bootstrap: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = _step(bootstrap, tmp_path, "print('no route to registry'); raise SystemExit(3)")
    with pytest.raises(bootstrap.Failed, match="no route to registry"):
        step.run("[1/1] Part")
    assert not step.is_done()
    assert "[1/1] Part: failed after" in capsys.readouterr().err


def test_missing_lock_is_an_incomplete_checkout(bootstrap: ModuleType, tmp_path: Path) -> None:
    step = bootstrap.Step("Part", tmp_path / "stamp", [tmp_path / "lock"], list)
    (tmp_path / "stamp").write_text("made")
    with pytest.raises(bootstrap.Failed, match="lock is missing: is this a complete checkout"):
        step.is_done()


def test_old_python_is_refused_by_name(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "NEEDED", (99, 0))
    assert bootstrap.main([]) == 1
    said = capsys.readouterr().err
    assert "needs Python 99.0 or newer" in said
    assert "make PYTHON=" in said


def test_missing_program_is_said_with_its_package(bootstrap: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main(["--look-for", "sh", "no-such-program"]) == 0
    said = capsys.readouterr().err
    assert said == "Not found: no-such-program. On Debian and Ubuntu: sudo apt-get install no-such-program\n"


def test_uv_is_taken_from_the_lock(bootstrap: ModuleType) -> None:
    assert bootstrap.pinned("uv", SOURCE.parents[1] / "requirements.txt").startswith("uv==")
