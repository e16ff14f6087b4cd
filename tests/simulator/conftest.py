"""One embedded AWS for the probe tests of a session, with the probe's stacks deployed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from simulator import client
from simulator.client import EmbeddedAws
from simulator.deploy import Deployment, deploy
from tests.simulator import probe_template

SCALE = 60.0
WORLD = "tests.simulator.probe_world:build"


@dataclass(frozen=True)
class Probe:
    """The running AWS and what was deployed on it: stacks 'state', 'probe' and 'changed'."""

    aws: EmbeddedAws
    deployment: Deployment

    def output(self, key: str, stack: str = "probe") -> str:
        return self.deployment.outputs[stack][key]


def needs_simulator() -> None:
    """Skip without the simulator's environment."""
    if not client.PYTHON.exists():
        pytest.skip(f"skipped, needs {client.PYTHON} (simulator/requirements.txt)")


@pytest.fixture(scope="session")
def probe_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAws]:
    needs_simulator()
    directory = tmp_path_factory.mktemp("aws")
    with EmbeddedAws.start(scale=SCALE, workdir=directory, world=WORLD, cache=directory / "cache") as aws:
        yield aws


@pytest.fixture(scope="session")
def probe(probe_aws: EmbeddedAws, tmp_path_factory: pytest.TempPathFactory) -> Probe:
    assembly = probe_template.write_assembly(
        tmp_path_factory.mktemp("cdk.out"),
        {
            "state": probe_template.state_template(),
            "probe": probe_template.application_template(),
            "changed": probe_template.changed_template(),
        },
    )
    return Probe(probe_aws, deploy(probe_aws, assembly))


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    needs_simulator()
    return tmp_path
