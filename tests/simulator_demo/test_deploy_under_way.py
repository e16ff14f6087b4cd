"""A deployment while executions run: a repair that waits for people and a creation between two stages end on new code.

The new code is a changed copy of the source: another module constant, and a state machine that calls a renamed one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from simulator.client import IAM_RECORDS
from simulator.demo.assembly import FOLDERS, INPUTS, REPOSITORY
from simulator.demo.house import House, opened
from simulator.demo.stage import ALICE
from simulator.deploy import deploy
from tests.simulator_demo.scenarios import ENVIRONMENTS, needs_simulator, running, scenario
from tests.simulator_demo.test_slack_away import GPU, QUICK, fail, incident, outcome

pytestmark = pytest.mark.slow

OLD_WORDS, NEW_WORDS = "Noted: ", "Noted by the new code: "
RENAMED, NEW_NAME = "prove_node", "prove_repair"


def newer_source(place: Path) -> Path:
    """A copy of what is deployed, changed as a later release might be."""
    place.mkdir()
    for name in FOLDERS:
        shutil.copytree(REPOSITORY / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in INPUTS:
        shutil.copy(REPOSITORY / name, place / name)
    (place / "build").symlink_to(REPOSITORY / "build")  # the built layer: its lock is the same
    replace(place / "roundhouse/line/approval.py", f'f"{OLD_WORDS}', f'f"{NEW_WORDS}')
    shutil.copytree(place / "functions" / RENAMED, place / "functions" / NEW_NAME)
    replace(place / "statemachines/remediate_node.asl.json", f"${{{RENAMED}}}", f"${{{NEW_NAME}}}")
    replace(place / "stacks/workflows.py", f'    "{RENAMED}",\n', f'    "{RENAMED}",\n    "{NEW_NAME}",\n')
    replace(
        place / "stacks/functions.py",
        f'    "{RENAMED}": DEFAULT,\n',
        f'    "{RENAMED}": DEFAULT,\n    "{NEW_NAME}": DEFAULT,\n',
    )
    still = "STILL_CALLED: dict[str, tuple[str, ...]] = {"
    replace(place / "stacks/functions.py", still, f'{still}"remediate_node": ("{RENAMED}",), ')
    with (place / "stacks/permissions.py").open("a") as table:
        table.write(f'\nFUNCTIONS["{NEW_NAME}"] = FUNCTIONS["{RENAMED}"]\n')
    return place


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, (
        f"{file.name} has {old!r} {text.count(old)} times: the newer source must be made otherwise"
    )
    file.write_text(text.replace(old, new))


def patient_environment(folder: Path) -> Path:
    """The small environment, whose questions and creations wait for longer than a deployment takes on a fast clock.

    It reboots: a replacement would rightly be held while there is no capacity.
    """
    folder.mkdir()
    target = folder / "small.toml"
    target.write_text((ENVIRONMENTS / "small.toml").read_text())
    replace(target, 'approval_ttl = "1h"', 'approval_ttl = "24h"')
    replace(target, 'shortage_timeout = "12h"', 'shortage_timeout = "48h"')
    replace(target, 'ladder = ["replace", "human"]', 'ladder = ["reboot", "human"]')
    return folder


def synthesized(source: Path, environment: str, out: Path, files: Path) -> Path:
    context = json.loads((source / "cdk.json").read_text())["context"] | {"environment": environment}
    given = {
        "CDK_OUTDIR": str(out),
        "CDK_CONTEXT_JSON": json.dumps(context),
        "CDK_VALIDATION": "false",
        "ROUNDHOUSE_ENVIRONMENTS": str(files),
        "JSII_NODE": str(Path(sys.executable).parent / "node"),
    }
    done = subprocess.run(
        [sys.executable, "app.py"], cwd=source, env=os.environ | given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return out


def invoked(it: House, function: str) -> int:
    """Log lines of a function: whether it ever ran."""
    logs, group = it.aws.client("logs"), f"/aws/lambda/roundhouse-small-{function.replace('_', '-')}"
    try:
        return len(logs.filter_log_events(logGroupName=group)["events"])
    except logs.exceptions.ResourceNotFoundException:
        return 0


def versions(it: House, function: str) -> tuple[str, Any]:
    """The version that the alias points to, and the definition's placeholder for it."""
    alias = it.aws.client("lambda").get_alias(FunctionName=f"roundhouse-small-{function}", Name="live")
    return str(alias["FunctionVersion"]), alias["AliasArn"]


def test_executions_that_wait_end_well_on_the_code_after_a_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_simulator()
    monkeypatch.delenv(IAM_RECORDS, raising=False)  # roles of a source that is not ours are compared with no table
    files = patient_environment(tmp_path / "environments")
    older = synthesized(REPOSITORY, "small", tmp_path / "before", files)
    newer = synthesized(newer_source(tmp_path / "newer"), "small", tmp_path / "after", files)
    shortage = {"kind": "capacity_shortage", "instance_type": "ml.g6.48xlarge", "group_target_above": 7}
    of = scenario("shortage", fault=[shortage], timing=QUICK)
    (tmp_path / "house").mkdir()
    with ExitStack() as stack:
        place, given = tmp_path / "house", {"small": older}
        it = opened(stack, of, ("small",), scale=300, workdir=place, say=print, assemblies=given, files=files)
        small = it["small"]

        def step() -> str:
            run = small.runs.get(small.cluster)
            return f"{run.status}: {run.step}" if run else ""

        creation = it.create("small", "first")
        it.wait("the shortage between two stages", lambda: "no capacity" in step(), 90, step)
        assert len(running(small)) == 7
        node = fail(it, 3, GPU, fixed_by="reboot")
        question = it.wait("the question", lambda: it.question(node["instance_id"]), 60, lambda: incident(it, node))
        before = versions(it, "answer-slack")

        deploy(it.aws, newer)

        after = versions(it, "answer-slack")
        assert after[0] != before[0]
        assert after[1] == before[1], "what older definitions name is still there"
        it.click(question, "approve", ALICE)
        it.wait("the repair", lambda: outcome(it, node), 90, lambda: incident(it, node))
        assert outcome(it, node) == "repaired"
        assert [call["operation"] for call in it.calls() if node["instance_id"] in str(call["params"])] == [
            "BatchRebootClusterNodes"
        ]
        assert any(NEW_WORDS in message["text"] for message in it.slack.messages()), "the click met the new code"
        assert invoked(it, RENAMED), "an execution keeps the definition that it began with"
        assert not invoked(it, NEW_NAME)

        it.aws.control("inject", clear=True)
        ended = it.wait("the creation", lambda: it.ended(creation), 90, step)
        assert ended["status"] == "SUCCEEDED"
        assert len(running(small)) == 10

        again = fail(it, 5, GPU, fixed_by="reboot")
        question = it.wait("a question of the new definition", lambda: it.question(again["instance_id"]), 60)
        it.click(question, "approve", ALICE)
        it.wait("its repair", lambda: outcome(it, again), 90, lambda: incident(it, again))
        assert outcome(it, again) == "repaired"
        assert invoked(it, NEW_NAME)
