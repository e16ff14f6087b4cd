"""`env check` and `env show`: every problem of every file, and what a good one becomes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roundhouse import codec
from roundhouse.build.spec import ClusterSpec
from roundhouse.cli import wiring
from roundhouse.cli.main import app
from roundhouse.errors import BadInput, EnvironmentInvalid
from roundhouse.line.policy import Policy

EXAMPLE = wiring.ENVIRONMENTS / "example-usw2.toml"


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def changed(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    """A copy of the example with texts replaced; each must be there."""
    text = EXAMPLE.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_all_shipped_environments_are_good() -> None:
    result = CliRunner().invoke(app, ["env", "check"])
    assert result.exit_code == 0
    for path in wiring.ENVIRONMENTS.glob("*.toml"):
        assert f"{path} is good" in result.output


def test_check_prints_every_problem_of_every_file(tmp_path: Path) -> None:
    zone = changed(tmp_path, "zone", ('kind = "account_reservation"', 'kind = "account_reservaton"'))
    several = changed(
        tmp_path, "several", ("count = 64 ", "count = 0 "), ('region = "us-west-2"', 'region = "us-wst-2"')
    )
    result = CliRunner().invoke(app, ["env", "check", str(zone), str(several), "demo"])
    assert result.exit_code == 1
    assert "zone.toml has 1 problem:" in result.output
    assert "account_reservaton" in result.output
    assert "groups[2].count = 0" in result.output, "the path and the value"
    assert "'us-wst-2': this region is not in catalog/regions.toml. Correct it" in result.output, "reason and remedy"
    assert "demo.toml is good" in result.output, "a bad file does not hide a good one"


def test_a_copy_that_kept_its_name_is_told(tmp_path: Path) -> None:
    copy = changed(tmp_path, "mine")
    own = changed(tmp_path, "own", ('name = "example-usw2"', 'name = "own"'))
    result = CliRunner().invoke(app, ["env", "check", str(copy), str(own)])
    assert result.exit_code == 0
    assert result.output.count("Its name is 'example-usw2', not 'mine'") == 1
    assert "not 'own'" not in result.output


def test_a_remedy_in_square_brackets_is_printed_whole(tmp_path: Path) -> None:
    text = EXAMPLE.read_text().replace(
        '[policy.rules.hardware]\nmode = "observe"', '[policy.rules.hardware]\nmode = "act"'
    )
    head, _, rest = text.partition("[policy.breaker]            #")
    path = tmp_path / "no-breaker.toml"
    path.write_text(head + rest[rest.index("[policy.budgets.replace]") :])
    result = CliRunner().invoke(app, ["env", "check", str(path)])
    assert result.exit_code == 1
    assert "Add [policy.breaker] with limits" in result.output


def test_a_file_that_is_not_toml_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("name = \n")
    result = CliRunner().invoke(app, ["env", "check", str(path)])
    assert result.exit_code == 1
    assert "is not TOML" in result.output


def test_notes_are_not_problems() -> None:
    result = CliRunner().invoke(app, ["env", "check", "demo"])
    assert result.exit_code == 0
    assert "note: network.free_addresses is not given" in result.output


def test_a_name_without_file_says_what_there_is() -> None:
    result = CliRunner().invoke(app, ["env", "check", "nowhere"])
    assert isinstance(result.exception, BadInput)
    assert "there are demo, demo-wrong-az, example-usw2" in str(result.exception)


def test_nothing_to_check_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "ENVIRONMENTS", tmp_path)
    result = CliRunner().invoke(app, ["env", "check"])
    assert isinstance(result.exception, BadInput)


def test_show_tells_stages_prices_policy_and_people() -> None:
    output = CliRunner().invoke(app, ["env", "show", "demo"]).output
    for part in (
        "39 → 52 → 64",
        "training plan in usw2-az2",
        "512.46 USD an hour expected",  # 64 x 8.00 + 1 x 0.46
        "reboot → replace → human",
        "4 nodes or 10 % of the cluster in 1h",
        "4 nodes or 10 % of a group in 1h",
        "12 nodes or 25 % of the cluster, 25 % of a group in 24h",
        "U0OPSALICE, U0OPSBOB",
        "48 workers",
    ):
        assert part in output


def test_show_as_json_is_what_the_functions_will_read() -> None:
    result = CliRunner().invoke(app, ["env", "show", "demo", "--json"])
    documents = json.loads(result.output)
    policy = codec.from_plain(Policy, documents["policy"])
    spec = codec.from_plain(ClusterSpec, documents["cluster"])
    assert documents["environment"] == "demo"
    assert (policy.cluster, spec.cluster) == ("train-demo", "train-demo")
    assert [group.count for group in spec.groups if group.role == "Compute"] == [64]


def test_show_refuses_a_file_with_problems(tmp_path: Path) -> None:
    path = changed(tmp_path, "bad", ("count = 64 ", "count = 0 "))
    result = CliRunner().invoke(app, ["env", "show", str(path)])
    assert isinstance(result.exception, EnvironmentInvalid)
    assert "groups[2].count" in str(result.exception)


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_names_and_numbers_stay_whole_in_a_narrow_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    output = CliRunner().invoke(app, ["env", "show", "demo"]).output
    for whole in ("ml.g6.48xlarge", "39 → 52 → 64", "controller", "16.60", "provisioning"):
        assert whole in output
