"""Synthesizes the demo's environments into cloud assemblies, and keeps them while nothing changed. Runs `app.py`."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = REPOSITORY / "build" / "assemblies"
INPUTS = ("app.py", "cdk.json", "requirements-lambda.txt", "requirements.txt")
ENVIRONMENTS = ("demo", "demo-wrong-az")
FILES = REPOSITORY / "environments"
FOLDERS = ("catalog", "environments", "functions", "roundhouse", "stacks", "statemachines")


class SynthFailed(RuntimeError):
    """`app.py` did not synthesize; the message ends with what it printed."""


def synthesize(environment: str, files: Path = FILES) -> Path:
    """Directory of the assembly of `environment`: a kept one when none of its sources changed. Raises SynthFailed.

    `files` is the folder that holds the environment's file.
    """
    place = CACHE / f"{environment}-{_digest((*_sources(), files / f'{environment}.toml'))[:16]}"
    if (place / "manifest.json").is_file():
        return place
    CACHE.mkdir(parents=True, exist_ok=True)
    context = json.loads((REPOSITORY / "cdk.json").read_text())["context"] | {"environment": environment}
    fresh = Path(tempfile.mkdtemp(prefix=f"{environment}-", dir=CACHE))
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=REPOSITORY,
        env=os.environ
        | {
            "CDK_OUTDIR": str(fresh),
            "CDK_CONTEXT_JSON": json.dumps(context),
            "CDK_VALIDATION": "false",
            "ROUNDHOUSE_ENVIRONMENTS": str(files),
            "JSII_NODE": str(Path(sys.executable).parent / "node"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SynthFailed(f"synthesizing {environment} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    for old in CACHE.glob(f"{environment}-{'[0-9a-f]' * 16}"):
        shutil.rmtree(old, ignore_errors=True)
    try:
        fresh.rename(place)
    except OSError:  # another run was faster: its assembly is the same
        shutil.rmtree(fresh, ignore_errors=True)
    return place


def main() -> None:
    """Synthesize what the demo deploys, telling which; done at once when nothing changed."""
    for environment in ENVIRONMENTS:
        sys.stderr.write(f"Synthesizing environment {environment} … ")
        sys.stderr.flush()
        synthesize(environment)
        sys.stderr.write("ready\n")


def _sources() -> Iterator[Path]:
    for name in INPUTS:
        yield REPOSITORY / name
    for folder in FOLDERS:
        yield from sorted(p for p in (REPOSITORY / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path.relative_to(REPOSITORY)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


if __name__ == "__main__":
    main()
