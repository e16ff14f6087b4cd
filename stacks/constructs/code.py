"""The two assets every function shares: our code as it stands, and the third-party layer built from its lock.

Touches `build/layer/` (a cache of built layers, by hash). Building needs the package registry once; nothing else does.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jsii
from aws_cdk import BundlingOptions, DockerImage, IgnoreMode, ILocalBundling
from aws_cdk import aws_lambda as lambda_

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements-lambda.txt"
RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE = lambda_.Architecture.ARM_64

_PYTHON, _PLATFORM = "3.13", "aarch64-manylinux2014"
_RECIPE = "1"
"""Raise when `build_layer` would make other files from the same lock: the asset hash must change then."""

# DOCKER patterns: everything is left out but what a `!` brings back. GLOB silently keeps nothing (see the asset test).
_CODE_PATTERNS = [
    "*",
    "!functions",
    "!roundhouse",
    "roundhouse/cli",
    "roundhouse/environment",
    "**/__pycache__",
]


def function_code() -> lambda_.Code:
    """`functions/` and the part of `roundhouse/` that runs in Lambda, in one asset."""
    return lambda_.Code.from_asset(str(ROOT), ignore_mode=IgnoreMode.DOCKER, exclude=_CODE_PATTERNS)


def layer_code() -> lambda_.Code:
    """The layer's packages, installed from the hashed lock for Lambda's Python and processor, without Docker."""
    return lambda_.Code.from_asset(
        str(ROOT),
        ignore_mode=IgnoreMode.DOCKER,
        exclude=["*", f"!{LOCK.name}"],
        asset_hash=layer_hash(),
        bundling=BundlingOptions(image=DockerImage.from_registry("never-pulled"), local=_LocalLayer()),
    )


def layer_hash() -> str:
    """Identity of the layer's content: the lock, the target and the recipe. CDK's own would ignore the last two."""
    identity = "\0".join([LOCK.read_text(), _PYTHON, _PLATFORM, _RECIPE])
    return hashlib.sha256(identity.encode()).hexdigest()


def build_layer() -> Path:
    """Directory whose `python/` holds the packages; built on first use, byte for byte the same everywhere."""
    target = ROOT / "build" / "layer" / layer_hash()[:24]
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=target.parent))
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary", ":all:", "--python-version", _PYTHON, "--python-platform", _PLATFORM]
    command += ["--target", str(partial / "python"), "-r", str(LOCK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own words only)
    if done.returncode:
        raise RuntimeError(f"the dependency layer could not be built from {LOCK.name}: {done.stderr.strip()}")
    _strip(partial / "python")
    partial.chmod(0o755)
    try:
        partial.rename(target)
    except OSError:  # another process was faster
        shutil.rmtree(partial)
    return target


def _strip(tree: Path) -> None:
    """Take away what differs between installers and machines."""
    shutil.rmtree(tree / "bin", ignore_errors=True)
    (tree / ".lock").unlink(missing_ok=True)
    for name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"):
        for path in tree.glob(f"*.dist-info/{name}"):
            path.unlink()


@jsii.implements(ILocalBundling)
class _LocalLayer:
    """CDK's hook: fill the output directory here instead of in a container."""

    def try_bundle(self, output_dir: str, options: object = None, **_: Any) -> bool:
        shutil.copytree(build_layer(), output_dir, dirs_exist_ok=True)
        return True
