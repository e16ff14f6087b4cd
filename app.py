"""The CDK app: one environment file becomes its stacks. No AWS call at synth.

cdk synth -c environment=demo
"""

import os
from pathlib import Path

from roundhouse.environment import load
from roundhouse.errors import EnvironmentInvalid
from stacks.deploy import add_stacks, new_app
from stacks.deployment import Deployment

FOLDER = Path(os.environ.get("ROUNDHOUSE_ENVIRONMENTS") or Path(__file__).parent / "environments")


def choose(given: str | None) -> Path:
    """The environment file called for; the only one when none is. Exits with the choices otherwise."""
    files = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
    if given is None and len(files) == 1:
        return next(iter(files.values()))
    if given in files:
        return files[given]
    wrong = "no environment given" if given is None else f"no environment {given!r}"
    raise SystemExit(f"{wrong}: say -c environment=NAME, one of {', '.join(files) or f'({FOLDER}/ is empty)'}")


app = new_app()
try:
    add_stacks(app, Deployment.of(load(choose(app.node.try_get_context("environment")))))
except EnvironmentInvalid as error:
    raise SystemExit(str(error)) from None
app.synth()
