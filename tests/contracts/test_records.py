"""What has once been stored is read for ever, and says what it said; a document of newer code is known as that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roundhouse import codec
from roundhouse.contracts import version
from roundhouse.errors import BadInput, NewerContract
from tests.contracts.record import FOLDER, enums_of, sample, stored_kinds

VERSIONS = sorted(FOLDER.parent.glob("v*"))
KINDS = stored_kinds()
FIXTURES = [path for folder in VERSIONS for path in sorted(folder.glob("*.json"))]


def _means(found: Any, recorded: Any) -> bool:
    """Whether `found` says all that was recorded; it may say more."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        return all(key in found and _means(found[key], value) for key, value in recorded.items())
    if isinstance(recorded, list) and isinstance(found, list):
        return len(found) == len(recorded) and all(map(_means, found, recorded))
    return bool(found == recorded)


def _read(kind: type[Any], recorded: Any) -> Any:
    return json.loads(codec.to_json(codec.from_plain(kind, recorded)))


def test_every_dataclass_that_is_stored_has_its_fixture() -> None:
    recorded = {path.stem for path in FIXTURES}
    missing = KINDS.keys() - recorded
    assert not missing, f"stored, and no fixture: {sorted(missing)}; run python -m tests.contracts.record"
    assert recorded <= KINDS.keys(), "what was stored once has to stay readable"
    assert {"Incident", "LedgerEntry", "Approval", "Run", "Policy", "ClusterSpec", "Notice"} <= recorded


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_fixture_is_read_and_means_what_it_meant(path: Path) -> None:
    kind, fixture = KINDS[path.stem], json.loads(path.read_text())
    assert _means(_read(kind, fixture["full"]), fixture["full"])
    assert _means(_read(kind, fixture["brief"]), fixture["brief_means"])
    known = enums_of(kind)
    for name, values in fixture["enums"].items():
        assert set(values) <= set(known[name]), f"{name} has lost a value that records may hold"


@pytest.mark.parametrize("name", KINDS)
def test_older_code_reads_newer_records_in_which_nothing_new_is_used(name: str) -> None:
    """Members that have their default are not written, so that code which does not know them can still read."""
    fixture = json.loads((FOLDER / f"{name}.json").read_text())
    minimal = codec.from_plain(KINDS[name], fixture["brief"])
    assert json.loads(codec.to_record(minimal)).keys() == fixture["brief"].keys()
    assert codec.from_json(KINDS[name], codec.to_record(sample(KINDS[name]))) == sample(KINDS[name])


@pytest.mark.parametrize("name", KINDS)
def test_a_record_with_something_new_is_refused_as_newer(name: str) -> None:
    full = json.loads((FOLDER / f"{name}.json").read_text())["full"]
    with pytest.raises(NewerContract, match="brand_new"):
        codec.from_plain(KINDS[name], {**full, "brand_new": 1})
    with pytest.raises(NewerContract, match=r"contract 99, and 1 is understood"):
        codec.from_plain(KINDS[name], {**full, "contract": 99})
    assert codec.from_plain(KINDS[name], {**full, "contract": 1}) == codec.from_plain(KINDS[name], full)


def test_an_unknown_enum_value_is_newer_and_a_broken_document_is_not() -> None:
    full = json.loads((FOLDER / "LedgerEntry.json").read_text())["full"]
    kind = KINDS["LedgerEntry"]
    with pytest.raises(NewerContract, match="HALF_DONE"):
        codec.from_plain(kind, {**full, "state": "HALF_DONE"})
    for broken in ({**full, "claimed_at": "yesterday"}, {"brand_new": 1}, {**full, "claimed_at": "x", "brand_new": 1}):
        with pytest.raises(BadInput) as raised:
            codec.from_plain(kind, broken)
        assert not isinstance(raised.value, NewerContract)


def test_the_version_is_written_from_the_second_on(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = sample(KINDS["LedgerEntry"])
    assert version.MEMBER not in json.loads(codec.to_record(entry))
    monkeypatch.setattr(version, "CONTRACT", 2)
    text = codec.to_record(entry)
    assert json.loads(text)[version.MEMBER] == 2
    assert codec.from_json(KINDS["LedgerEntry"], text) == entry
    monkeypatch.setattr(version, "CONTRACT", 1)
    with pytest.raises(NewerContract):
        codec.from_json(KINDS["LedgerEntry"], text)
