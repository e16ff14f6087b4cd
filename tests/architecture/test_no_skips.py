"""In CI a test that is skipped has failed: what was not run must not look like what passed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = {
    "in the test": "import pytest\ndef test_one():\n    pytest.skip('no browser here')\n",
    "by a mark": "import pytest\n@pytest.mark.skipif(True, reason='no browser here')\ndef test_one():\n    pass\n",
    "as a module": "import pytest\npytest.skip('no browser here', allow_module_level=True)\n",
    "for want of a package": "import pytest\npytest.importorskip('no_browser_here')\n",
}


@pytest.mark.parametrize("ci", [True, False])
@pytest.mark.parametrize("how", SKIPPED)
def test_skip_fails_in_ci_alone(how: str, ci: bool, tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(SKIPPED[how])
    variables = {key: value for key, value in os.environ.items() if key != "CI"} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**variables, **({"CI": "true"} if ci else {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ("In CI nothing may be skipped" in done.stdout) == ci
    assert (done.returncode == 1 or done.returncode == 2) == ci, done.stdout
