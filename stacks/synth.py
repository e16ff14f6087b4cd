"""Templates without the CDK command: `python -m stacks.synth ENVIRONMENT`. Imports no CDK; runs app.py.

For programs that want the templates and assets and have no use for Node's command line, such as the demo. The same
inputs give the same files, so what is there is kept. Touches `build/synth/ENVIRONMENT`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_INPUTS = ("app.py", "cdk.json", "requirements-lambda.txt", "requirements.txt")
_FOLDERS = ("stacks", "functions", "roundhouse", "statemachines", "catalog")
_STAMP = "roundhouse-inputs"


class SynthFailed(Exception):
    """app.py refused; the message is what it said."""


def synthesize(environment: str, *, root: Path = ROOT) -> Path:
    """The cloud assembly of one environment: a folder with `*.template.json`, `*.assets.json` and the assets.

    Takes about 10 s, and as good as nothing when no input has changed. Raises SynthFailed.
    """
    folder = root / "build" / "synth"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{environment}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests and demos run side by side
        return _synthesize(environment, folder / environment, root)


def _synthesize(environment: str, out: Path, root: Path) -> Path:
    stamp, identity = out / _STAMP, _identity(environment, root)
    if stamp.is_file() and stamp.read_text() == identity:
        return out
    shutil.rmtree(out, ignore_errors=True)
    context = json.loads((root / "cdk.json").read_text())["context"]
    variables = {
        "CDK_OUTDIR": str(out),
        "CDK_CONTEXT_JSON": json.dumps({**context, "environment": environment}),
        "CDK_VALIDATION": "false",  # make synth has it on
    }
    command = [sys.executable, str(root / "app.py")]
    done = subprocess.run(  # noqa: S603 (our own app)
        command, cwd=root, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SynthFailed(f"environment {environment!r} could not be synthesized:\n{done.stdout}{done.stderr}".strip())
    stamp.write_text(identity)
    return out


def _identity(environment: str, root: Path) -> str:
    digest = hashlib.sha256(f"{root}\0{sys.version}".encode())
    files = [root / name for name in _INPUTS] + [root / "environments" / f"{environment}.toml"]
    for folder in _FOLDERS:
        files += [path for path in (root / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in sorted(files):
        content = path.read_bytes() if path.is_file() else b"absent"
        digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m stacks.synth ENVIRONMENT")
    try:
        sys.stdout.write(f"{synthesize(sys.argv[1])}\n")
    except SynthFailed as error:
        sys.exit(str(error))
