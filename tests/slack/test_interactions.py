"""Which requests are clicks: the recorded shapes, and what may come instead of each part."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.contracts.slack import CHOICES, ButtonValue
from roundhouse.errors import MalformedEvent
from roundhouse.line.approval import Click
from roundhouse.slack.interactions import BadRequest, CertificateCheck, Ignored, read_request

CASES = Path(__file__).parents[1] / "data" / "cases"
AT = datetime(2026, 5, 29, 12, 0, tzinfo=UTC)
TEAM, APP = "T0AAAAAAA", "A0AAAAAAA"


def recorded(case: str, name: str) -> bytes:
    return (CASES / case / name).read_bytes()


def ok_payload() -> dict[str, Any]:
    payload = json.loads(parse_qs(recorded("510", "ok.txt").decode())["payload"][0])
    assert isinstance(payload, dict)
    return payload


def form(payload: object) -> bytes:
    return urlencode({"payload": json.dumps(payload)}).encode()


def kind(body: bytes) -> type:
    return type(read_request(body, clicked_at=AT, team=TEAM, app=APP))


def test_recorded_shapes() -> None:
    expected = json.loads(recorded("510", "expected.json"))
    assert {name: kind(recorded("510", name)) for name in expected["approvals"]} == dict.fromkeys(
        expected["approvals"], Click
    )
    assert {kind(recorded("510", name)) for name in expected["ignored"]} == {Ignored}
    for name, status in expected["http"].items():
        assert kind(recorded("510", name)) is {200: CertificateCheck, 400: BadRequest}[status], name


def test_who_clicked_what_and_when() -> None:
    click = read_request(recorded("510", "ok.txt"), clicked_at=AT, team=TEAM, app=APP)
    assert click == Click("apr_7f3c", "approve", "U0AAAAAAA", AT, None, "https://hooks.slack.com/actions/T0AAAAAAA/1/x")


def test_events_are_ignored_not_refused() -> None:
    for name in ("r0.json", "r1.json", "r2-http_error.json", "dup.json"):
        assert kind(json.loads(recorded("504", name))["body"].encode()) is Ignored


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        (("team",), None, Click),  # installed for a whole organisation: the user's team speaks
        (("team", "id"), "T0BBBBBBB", Ignored),
        (("api_app_id",), "A0BBBBBBB", Ignored),
        (("api_app_id",), None, Ignored),
        (("enterprise",), None, Click),
        (("container",), None, Click),
        (("message",), None, Click),
        (("response_url",), None, Click),
        (("type",), "block_suggestion", Ignored),
        (("type",), "shortcut", Ignored),
        (("type",), "something_new", Ignored),
        (("type",), None, BadRequest),
        (("user",), None, BadRequest),
        (("user", "id"), "", BadRequest),
        (("actions",), None, BadRequest),
        (("actions",), {}, BadRequest),
        (("actions",), [], Ignored),
        (("actions",), [None, 3, "x"], Ignored),
        (("actions", 0, "action_id"), "open_dashboard", Ignored),
        (("actions", 0, "action_id"), ["approve"], Ignored),
        (("actions", 0, "type"), "static_select", Ignored),
        (("actions", 0, "value"), "", Ignored),
        (("actions", 0, "value"), {"approval": "x"}, Ignored),
        (("actions", 0, "value"), "not an id!", Ignored),
        (("actions", 0, "value"), '{"v":2,"approval":"a","choice":"approve","instance":null}', Ignored),
        (("actions", 0, "value"), '{"v":1,"approval":"a","choice":"deny","instance":null}', Ignored),
        (("actions", 0, "value"), '{"v":1,"approval":"","choice":"approve","instance":null}', Ignored),
        (("actions", 0, "value"), '{"v":1,"approval":"a","choice":"approve","instance":"i-0aaa"}', Click),
    ],
)
def test_every_part_may_be_otherwise(path: tuple[Any, ...], value: object, wanted: type) -> None:
    payload: Any = ok_payload()
    at = payload
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    assert kind(form(payload)) is wanted


def test_a_button_value_that_nests_too_deep_is_none_of_ours() -> None:
    payload = ok_payload()
    payload["actions"][0]["value"] = "[" * 2000
    assert kind(form(payload)) is Ignored


def test_a_link_button_before_ours_does_not_hide_it() -> None:
    payload = ok_payload()
    payload["actions"].insert(0, {"action_id": "link", "type": "button", "url": "https://example.com"})
    assert kind(form(payload)) is Click


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"payload=",
        b"payload=%7B",
        b"payload=[]",
        b"payload=null",
        b"payload=%FF%FE",
        b"\xff",
        b"{",
        b"payload=" + b"[" * 100_000,
        b"&".join(b"a=b" for _ in range(2000)),
    ],
)
def test_what_slack_never_sends(body: bytes) -> None:
    assert kind(body) is BadRequest


@given(st.binary(max_size=400))
def test_no_body_raises(body: bytes) -> None:
    read_request(body, clicked_at=AT)
    read_request(b"payload=" + body, clicked_at=AT)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["type", "user", "team", "actions", "api_app_id", "channel", "response_url"]), json_values)
def test_no_payload_raises(key: str, value: object) -> None:
    read_request(form(ok_payload() | {key: value}), clicked_at=AT, team=TEAM, app=APP)


ids = st.text(min_size=1, max_size=200)


@given(ids, st.sampled_from(CHOICES), st.none() | ids)
def test_a_button_value_survives_the_way_through_slack(approval_id: str, choice: str, instance_id: str | None) -> None:
    try:
        text = ButtonValue(approval_id, choice, instance_id).to_text()
    except MalformedEvent:
        return  # longer than a button may carry
    assert len(text) <= 2000
    payload = ok_payload()
    payload["actions"][0] |= {"action_id": choice, "value": text}
    click = read_request(form(payload), clicked_at=AT, team=TEAM, app=APP)
    assert isinstance(click, Click)
    assert (click.approval_id, click.choice, click.instance_id) == (approval_id, choice, instance_id)


@pytest.mark.parametrize("value", [ButtonValue("apr", "launch_missiles"), ButtonValue("a" * 2000, "approve")])
def test_no_button_is_drawn_whose_click_could_not_be_read(value: ButtonValue) -> None:
    with pytest.raises(MalformedEvent):
        value.to_text()
