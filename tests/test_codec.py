"""Every record and document comes back from its JSON as it went in; anything else is refused."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse import codec
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.ledger import LedgerEntry
from roundhouse.contracts.notices import Notice
from roundhouse.errors import BadInput
from roundhouse.line.approval import Approval
from roundhouse.line.breaker import BreakerState
from roundhouse.line.event import Event
from roundhouse.line.incident import Incident
from roundhouse.line.policy import Policy
from roundhouse.line.state import SlurmSnapshot
from roundhouse.ports import Pause, Run

RECORDS: list[type[Any]] = [
    Approval,
    BreakerState,
    ClusterSpec,
    Event,
    Incident,
    LedgerEntry,
    Pause,
    Policy,
    Run,
    SlurmSnapshot,
]

st.register_type_strategy(datetime, st.datetimes(timezones=st.just(UTC)))
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))


def all_members(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Instances with every member drawn, the defaulted ones too, at any depth."""
    hints = get_type_hints(kind)
    members = {}
    for member in dataclasses.fields(kind):
        for inner in _dataclasses_in(hints[member.name]):
            st.register_type_strategy(inner, all_members(inner))
        members[member.name] = st.from_type(hints[member.name])
    return st.builds(kind, **members)


def _dataclasses_in(hint: Any) -> list[type[Any]]:
    if dataclasses.is_dataclass(hint):
        return [hint]  # type: ignore[list-item]
    return [found for part in get_args(hint) for found in _dataclasses_in(part)]


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_a_record_survives_its_json(kind: type[Any]) -> None:
    @settings(max_examples=40, deadline=None)
    @given(all_members(kind))
    def check(record: Any) -> None:
        text = codec.to_json(record)
        back = codec.from_json(kind, text)
        assert back == record
        assert codec.to_json(back) == text

    check()


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@settings(max_examples=40, deadline=None)
@given(all_members(Notice), st.none() | st.dictionaries(st.text(), JSON))
def test_a_notice_survives_its_json(notice: Notice, approval: dict[str, object] | None) -> None:
    told = dataclasses.replace(notice, approval=approval)
    assert codec.from_json(Notice, codec.to_json(told)) == told


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_an_unknown_member_is_refused(kind: type[Any]) -> None:
    with pytest.raises(BadInput, match=f"not a {kind.__name__}"):
        codec.from_json(kind, '{"member_of_a_newer_version": 1}')


@pytest.mark.parametrize("text", ["", "[", "[]", "null", "7"])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        codec.from_json(Pause, text)
