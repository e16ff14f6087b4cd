from __future__ import annotations

import json

from benchmarks.cold import first_events, main
from stacks.functions import FUNCTIONS


def test_the_last_line_has_the_start_of_a_function(capsys):
    assert main(["intake_signals", "read_health_log"], times=1) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    intake = figures["functions"]["intake_signals"]
    assert figures["failed"] == {}
    assert figures["no_first_event"] == []
    assert figures["intake_ms"] > 0 < figures["functions"]["read_health_log"]["import_ms"]
    assert intake["as_shipped_ms"] > intake["import_ms"], "compiling takes time"


def test_a_function_without_a_first_event_is_told(capsys):
    assert main(["no_such_function"], times=1) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["no_first_event"] == ["no_such_function"]


def test_every_function_has_a_first_event():
    assert FUNCTIONS.keys() - first_events().keys() == set()
