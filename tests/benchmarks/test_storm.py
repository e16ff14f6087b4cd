from __future__ import annotations

import json

import pytest

from benchmarks.storm import main


@pytest.mark.slow
@pytest.mark.alone
def test_a_small_storm_loses_nothing_and_starts_what_is_broken(capsys):
    assert main(events=300) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (figures["lost"], figures["events"], figures["real_incidents"]) == (0, 300, 40)
    assert figures["executions"] == figures["incidents"] == 40
    assert figures["calls"]["states:StartExecution"] >= 40
    assert figures["one_by_one"]["lost"] == 0
    per_message = {
        way: sum(row["calls"].values()) / row["events"]
        for way, row in (("batches", figures), ("one by one", figures["one_by_one"]))
    }
    assert per_message["batches"] < per_message["one by one"]
