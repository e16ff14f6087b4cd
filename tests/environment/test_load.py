"""Shapes, patterns, all problems at once, and nothing but EnvironmentInvalid whatever the file holds."""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.environment import load, parse
from roundhouse.environment.load import examine
from roundhouse.environment.model import Environment
from roundhouse.environment.show import hints
from roundhouse.errors import EnvironmentInvalid
from tests.environment.samples import GONE, GOOD, changed

SHIPPED = sorted((Path(__file__).parents[2] / "environments").glob("*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_environments_are_valid_and_named_like_their_file(path: Path) -> None:
    assert load(path).name == path.stem


def test_the_example_changes_nothing_until_it_says_so() -> None:
    example = load(next(p for p in SHIPPED if p.stem == "example-usw2"))
    assert {mode.value for mode in example.policy.modes()} == {"observe"}
    assert example.deployment.deletion_protection


@pytest.mark.parametrize(
    ("changes", "path", "word"),
    [
        ({"name": "Prod"}, "name", "small letters"),
        ({"name": "x" * 21}, "name", "2 to 20"),
        ({"account": 111122223333}, "account", "string"),
        ({"account": "11112222333"}, "account", "12 digits"),
        ({"account": "１１１１２２２２３３３３"}, "account", "12 digits"),
        ({"az_id": "us-west-2b"}, "az_id", "not an AZ name"),
        ({"network.vpc_id": "vpc-xyz"}, "network.vpc_id", "VPC id"),
        ({"network.subnet_ids": []}, "network.subnet_ids", "at least 1"),
        ({"network.subnet_ids": "subnet-0123456789abcdef0"}, "network.subnet_ids", "tuple"),
        ({"network.subnet_ids[0]": "subnet-0123"}, "network.subnet_ids[0]", "subnet id"),
        ({"network.security_group_ids[0]": "sg-"}, "network.security_group_ids[0]", "security group"),
        ({"storage[0].mount_name": "too-long-name"}, "storage[0].mount_name", "mount name"),
        ({"storage[0].mount_path": "fsx"}, "storage[0].mount_path", "absolute"),
        ({"cluster.name": "-train"}, "cluster.name", "63"),
        ({"cluster.name": "a" * 64}, "cluster.name", "63"),
        ({"cluster.provisioning_mode": "Continuous"}, "cluster.provisioning_mode", "'continuous'"),
        ({"cluster.execution_role_arn": "hyperpod"}, "cluster.execution_role_arn", "IAM role"),
        ({"cluster.tags": {"aws:x": "y"}}, "cluster.tags.aws:x", "reserved"),
        ({"cluster.lifecycle.on_create": "../x.sh"}, "cluster.lifecycle.on_create", "file name"),
        ({"groups[1].count": 0}, "groups[1].count", "greater than 0"),
        ({"groups[1].count": 6759}, "groups[1].count", "6758"),
        ({"groups[1].count": "64"}, "groups[1].count", "integer"),
        ({"groups[1].count": True}, "groups[1].count", "integer"),
        ({"groups[1].first_stage_share": 0.0}, "groups[1].first_stage_share", "greater than 0"),
        ({"groups[1].first_stage_share": 1.1}, "groups[1].first_stage_share", "less than or equal"),
        ({"groups[1].first_stage_share": float("nan")}, "groups[1].first_stage_share", "finite"),
        ({"groups[1].threads_per_core": 3}, "groups[1].threads_per_core", "less than or equal"),
        ({"groups[1].discount": {"kind": "spot"}}, "groups[1].discount", "spot"),
        ({"groups[1].discount": {}}, "groups[1].discount", "tag"),
        ({"groups[1].discount.training_plan_arn": "p"}, "groups[1].discount.training_plan_arn", "plan ARN"),
        ({"groups[1].discount.training_plan_arn": GONE}, "groups[1].discount.training_plan_arn", "missing"),
        ({"groups": []}, "groups", "at least 1"),
        ({"waits.poll": 60}, "waits.poll", "not a duration"),
        ({"waits.poll": "1 minute"}, "waits.poll", "not a duration"),
        ({"waits.poll": ""}, "waits.poll", "not a duration"),
        ({"waits.poll": "0s"}, "waits.poll", "at least a second"),
        ({"waits.poll": "401d"}, "waits.poll", "400 days"),
        ({"policy.rules.hardware.mode": "auto"}, "policy.rules.hardware.mode", "'observe'"),
        ({"policy.rules.gpu": {"mode": "ask"}}, "policy.rules.gpu", "'hardware'"),
        ({"policy.rules.hardware.ladder": []}, "policy.rules.hardware.ladder", "at least 1"),
        ({"policy.rules.hardware.ladder[0]": "restart"}, "policy.rules.hardware.ladder[0]", "'reboot'"),
        ({"policy.protected_nodes": ["a b"]}, "policy.protected_nodes[0]", "node name"),
        ({"slack.channel": "#gpu-ops"}, "slack.channel", "channel id"),
        ({"slack.team": "acme"}, "slack.team", "workspace id"),
        ({"slack.approvers": ["@alice"]}, "slack.approvers[0]", "user id"),
        ({"slack.secret_name": "xoxb-1-2"}, "slack.secret_name", "never the secret itself"),
        ({"slack.api_url": "http://slack.example.com/api/"}, "slack.api_url", "https"),
        ({"slack": GONE}, "slack", "missing"),
        ({"costs.rollback_dollar_cap": 0}, "costs.rollback_dollar_cap", "greater than 0"),
        ({"groups[1].cuont": 64}, "groups[1].cuont", "no such key"),
    ],
)
def test_a_bad_value_is_named_with_its_path_reason_and_remedy(changes: dict[str, Any], path: str, word: str) -> None:
    environment, problems = examine(changed(**changes))
    assert environment is None
    mine = [p for p in problems if p.path == path and word in p.reason]
    assert mine, [str(p) for p in problems]
    assert all(p.remedy for p in problems)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("2d", 172800), ("1d2h3m4s", 93784)]
)
def test_durations(text: str, seconds: int) -> None:
    assert parse(changed(**{"waits.poll": text})).waits.poll == seconds


def test_a_misspelt_key_gets_the_nearest_one_as_remedy() -> None:
    _, problems = examine(changed(**{"policy.rules.hardware.grase": "5m"}))
    assert [p.remedy for p in problems] == ["Perhaps grace is meant"]


def test_a_secret_is_not_repeated() -> None:
    _, problems = examine(changed(**{"slack.bot_token": "xoxb-1-2"}))
    assert len(problems) == 1
    assert "xoxb" not in str(problems[0])
    assert "slack.secret_name" in problems[0].remedy


def test_an_array_with_a_bad_element_is_not_called_too_short_as_well() -> None:
    _, problems = examine(changed(**{"network.subnet_ids": ["subnet-xyz"]}))
    assert [p.path for p in problems] == ["network.subnet_ids[0]"]


def test_problems_of_shape_and_of_rules_are_reported_together() -> None:
    table = changed(
        **{
            "account": "1",  # hides the rules about accounts, and no other
            "groups[1].discount.az_id": "usw2-az1",
            "groups[1].count": "many",
            "cluster.provisioning_mode": "legacy",
            "waits.shortage_timeout": "10m",
            "storage[0].az_id": "usw2-az3",
            "slack.team": GONE,
            "slack.channnel": "C0123ABCDEF",
            "policy.capacity_floor.worker": 3,
        }
    )
    with pytest.raises(EnvironmentInvalid) as caught:
        parse(table, origin="bad.toml")
    text = str(caught.value)
    wanted = (
        "account = '1'",
        "groups[1].count = 'many'",
        "slack.team: this is required",
        "slack.channnel",
        "Perhaps channel is meant",
        "groups[1].discount.az_id = 'usw2-az1'",
        "storage[0].az_id = 'usw2-az3'",
        "waits.shortage_timeout = 600 s",
        "policy.capacity_floor.worker = 3",
    )
    assert [part for part in wanted if part not in text] == []
    assert text.startswith("bad.toml has ")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"name = ", "not TOML"),
        (b"name = 'a'\nname = 'b'", "not TOML"),
        (b"\xff\xfe", "cannot be read"),
        (b"x = " + b"[" * 5000, "not TOML"),
        (b"", "name: this is required"),
    ],
)
def test_a_file_that_is_no_environment(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(EnvironmentInvalid, match=word):
        load(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentInvalid, match=r"x\.toml.*cannot be read"):
        load(tmp_path / "x.toml")


SCALARS = st.one_of(
    st.text(max_size=20),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.booleans(),
    st.just(datetime(2026, 1, 1, tzinfo=UTC)),
    st.just(date(2026, 1, 1)),
)
TOML = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, child in children for p in _paths(child, (*path, key)))]


def _examined(table: dict[str, Any]) -> None:
    with contextlib.suppress(EnvironmentInvalid):
        assert isinstance(parse(table), Environment)


@given(st.dictionaries(st.one_of(st.sampled_from(sorted(Environment.model_fields)), st.text(max_size=8)), TOML))
def test_any_table_is_an_environment_or_invalid(table: dict[str, Any]) -> None:
    _examined(table)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_paths(GOOD)[1:]), st.one_of(st.just(GONE), TOML)), min_size=1, max_size=4))
def test_a_good_table_with_anything_in_any_place_is_an_environment_or_invalid(
    mutations: list[tuple[tuple[Any, ...], Any]],
) -> None:
    table = changed()
    for path, value in mutations:
        place: Any = table
        with contextlib.suppress(KeyError, IndexError, TypeError):  # an earlier mutation took the place away
            for part in path[:-1]:
                place = place[part]
            if value is GONE:
                del place[path[-1]]
            else:
                place[path[-1]] = value
    _examined(table)


def test_slack_app_is_optional_checked_for_its_form_and_missed() -> None:
    named = parse(changed(**{"slack.app_id": "A0123ABCDEF"}))
    assert not [hint for hint in hints(named) if "slack.app_id" in hint]
    assert [hint for hint in hints(parse(changed())) if "slack.app_id" in hint]
    [problem] = examine(changed(**{"slack.app_id": "T0123ABCDEF"}))[1]
    assert problem.path == "slack.app_id"
    assert "a Slack app id" in problem.reason
