"""The wiring under test is the synthesized template's: with a rule or a permission changed there, it goes red."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.simulator_demo.sabotage import Code, DoesNotFit, Pattern, Permission, Sabotage, play_sabotaged, sabotaged
from tests.simulator_demo.sabotages import OF_TEMPLATES


@pytest.mark.slow
@pytest.mark.parametrize("sabotage", OF_TEMPLATES, ids=lambda sabotage: sabotage.name)
def test_the_demo_goes_red(sabotage: Sabotage, tmp_path: Path) -> None:
    played = play_sabotaged(sabotage, tmp_path)
    assert (played.code, bool(played.red)) == (1, True), played.printed
    first = played.red[0]
    assert (first["act"], first["must"]) == (sabotage.act, sabotage.must), played.printed
    assert sabotage.seen in first["seen"]


# The saboteur's own tools ------------------------------------------------------------------------------------------
ROLE = {
    "Type": "AWS::IAM::Role",
    "Properties": {
        "Policies": [
            {
                "PolicyDocument": {
                    "Statement": [
                        {"Effect": "Allow", "Action": ["a:Get", "a:Put"], "Resource": [{"Ref": "ledger"}, "other"]},
                        {"Effect": "Allow", "Action": "a:List", "Resource": "*"},
                    ]
                }
            }
        ]
    },
}
RULE = {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": ["aws.sagemaker"]}}}


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    """A tiny assembly: one template, code, and dependencies."""
    place = tmp_path / "assembly"
    (place / "asset.code" / "functions").mkdir(parents=True)
    (place / "asset.layer" / "python").mkdir(parents=True)
    (place / "asset.code" / "functions" / "f.py").write_text("known = ledger.get(claim)\n")
    template = {"Resources": {"actRole1": ROLE, "rule1": RULE}}
    (place / "One.template.json").write_text(json.dumps(template))
    return place


def _template(place: Path) -> dict[str, dict[str, dict[str, object]]]:
    found: dict[str, dict[str, dict[str, object]]] = json.loads((place / "One.template.json").read_text())["Resources"]
    return found


def test_code_is_changed_in_the_copy_alone(assembly: Path, tmp_path: Path) -> None:
    copy = sabotaged(assembly, (Code("functions/f.py", "ledger.get(claim)", "None"),), tmp_path / "copy")
    assert (copy / "asset.code" / "functions" / "f.py").read_text() == "known = None\n"
    assert (assembly / "asset.code" / "functions" / "f.py").read_text() == "known = ledger.get(claim)\n"
    assert (copy / "asset.layer").resolve() == assembly / "asset.layer"


def test_an_action_is_taken_away_where_it_is_meant(assembly: Path, tmp_path: Path) -> None:
    copy = sabotaged(assembly, (Permission("actRole", "a:Put", on="ledger"),), tmp_path / "copy")
    policy = _template(copy)["actRole1"]["Properties"]["Policies"][0]  # type: ignore[index]
    assert policy["PolicyDocument"]["Statement"] == [
        {"Effect": "Allow", "Action": ["a:Get", "a:Put"], "Resource": ["other"]},
        {"Effect": "Allow", "Action": ["a:Get"], "Resource": [{"Ref": "ledger"}]},
        {"Effect": "Allow", "Action": "a:List", "Resource": "*"},
    ]


def test_a_pattern_waits_for_something_else(assembly: Path, tmp_path: Path) -> None:
    copy = sabotaged(assembly, (Pattern("rule", "source", "nobody"),), tmp_path / "copy")
    assert _template(copy)["rule1"]["Properties"]["EventPattern"] == {"source": ["nobody"]}


@pytest.mark.parametrize(
    "change",
    [
        Code("functions/g.py", "known", "None"),
        Code("functions/f.py", "unknown", "None"),
        Code("functions/f.py", "l", "None"),
        Permission("actRole", "a:Delete"),
        Permission("actRole", "a:Put", on="incidents"),
        Permission("watchRole", "a:Put"),
        Pattern("rule", "detail-type", "nothing"),
        Pattern("rule", "source", "aws.sagemaker"),
        Pattern("other", "source", "nobody"),
    ],
)
def test_what_does_not_fit_is_told(assembly: Path, tmp_path: Path, change: Code | Permission | Pattern) -> None:
    with pytest.raises(DoesNotFit):
        sabotaged(assembly, (change,), tmp_path / "copy")
