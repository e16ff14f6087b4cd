from __future__ import annotations

import json

from benchmarks.decide import main


def test_the_last_line_is_one_json_object_with_the_figures(capsys):
    assert main(incidents=300) == 0
    lines = capsys.readouterr().out.splitlines()
    figures = json.loads(lines[-1])
    assert len(lines) > 4
    assert sum(figures["verdicts"].values()) == figures["incidents"] == 300
    assert len(figures["verdicts"]) >= 6
    assert figures["decisions_per_s"] > 200
    assert 0 < figures["p50_ms"] <= figures["p99_ms"]
