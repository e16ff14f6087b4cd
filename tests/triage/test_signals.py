from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from roundhouse.errors import MalformedEvent
from roundhouse.line.event import Source
from roundhouse.triage.signals import read

DATA = Path(__file__).parent.parent / "data" / "events"
NOW = datetime(2026, 10, 3, tzinfo=UTC)


def load(name):
    return json.loads((DATA / f"{name}.json").read_text())


def test_every_source_has_its_reader():
    slurm = {
        "source": "roundhouse.slurm",
        "detail": {
            "cluster": "train-a",
            "sequence": 1,
            "taken_at": "2026-10-02T00:00:00Z",
            "nodes": [{"name": "ip-1", "state": "DOWN*"}],
        },
    }
    log = {"source": "roundhouse.hma", "detail": load("hma-cwlogs-subscription-decoded")}
    sources = [
        read(envelope, NOW).events[0].source for envelope in (slurm, log, load("node-health.unhealthy.repair-none"))
    ]
    assert sources == [Source.SLURM, Source.HEALTH_AGENT_LOG, Source.NODE_HEALTH]
    assert read(slurm, NOW).snapshot is not None
    assert read(slurm, NOW).cluster == "train-a"
    assert "not ours" in read({"source": "aws.ec2", "detail-type": "x"}, NOW).note


@pytest.mark.parametrize("envelope", [[], {"source": "roundhouse.slurm"}, {"source": "roundhouse.hma", "detail": "x"}])
def test_malformed(envelope):
    with pytest.raises(MalformedEvent):
        read(envelope, NOW)
