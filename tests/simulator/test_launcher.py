"""The launcher as a process: it starts fast or says why not, ends cleanly, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.client import PYTHON, REPOSITORY, EmbeddedAws, EmbeddedAwsError
from tests.simulator import probe_template
from tests.simulator.conftest import WORLD, needs_simulator
from tests.simulator.waiting import eventually


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_world_is_ticked_and_controlled(probe_aws: EmbeddedAws) -> None:
    first = probe_aws.control("ticks")["ticks"]
    eventually(lambda: probe_aws.control("ticks")["ticks"] > first, what="a tick")
    with pytest.raises(EmbeddedAwsError, match="no-such-command"):
        probe_aws.control("no-such-command")


def test_the_client_and_the_launcher_show_the_same_time(probe_aws: EmbeddedAws) -> None:
    told = probe_aws.control("clock")
    assert told["scale"] == probe_aws.clock.scale
    assert told["origin"] == probe_aws.clock.origin


def test_it_is_reached_from_this_machine_only(probe_aws: EmbeddedAws) -> None:
    port = int(probe_aws.endpoint.rpartition(":")[2])
    listening = [
        line.split()[1]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()[1:]
        if line.split()[3] == "0A" and int(line.split()[1].rpartition(":")[2], 16) == port
    ]
    assert [address.partition(":")[0] for address in listening] == ["0100007F"]


def test_a_mistake_in_the_scenario_is_told(workdir: Path) -> None:
    with pytest.raises(EmbeddedAwsError, match="No module named 'no_such_world'"):
        EmbeddedAws.start(workdir=workdir, world="no_such_world:build", cache=workdir / "cache")


def test_it_ends_with_its_parent_and_so_do_its_workers(workdir: Path) -> None:
    needs_simulator()
    function = probe_template.DATA / "plain_function"
    script = f"""
import json, os, sys, time
from pathlib import Path
from simulator.client import EmbeddedAws
from simulator.deploy import zip_directory
aws = EmbeddedAws.start(workdir=Path({str(workdir)!r}), world={WORLD!r}, cache=Path({str(workdir)!r}) / "cache")
role = aws.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps({{
    "Statement": [{{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {{"Service": "lambda.amazonaws.com"}}}}]
}}))["Role"]["Arn"]
aws.client("lambda").create_function(
    FunctionName="plain", Runtime="python3.13", Handler="plain.handle", Role=role,
    Code={{"ZipFile": zip_directory(Path({str(function)!r}))}})
worker = json.loads(aws.client("lambda").invoke(FunctionName="plain")["Payload"].read())
print(json.dumps({{"launcher": aws.pid, "worker": worker}}), flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert parent.stdout is not None
    pids = json.loads(parent.stdout.readline())
    assert running(pids["launcher"])
    assert running(pids["worker"])
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    eventually(lambda: not running(pids["launcher"]) and not running(pids["worker"]), 15, "the end of both")


def test_hooks_name_what_does_not_fit() -> None:
    needs_simulator()
    program = """
from simulator.aws.hooks import Hook, problems
assert problems() == [], problems()
for text in problems([
    Hook("ministack.services.sqs", "_no_such_name"),
    Hook("ministack.services.no_such_module", "x"),
    Hook("ministack.services.eventbridge", "_now_ts", ("moment",)),
    Hook("ministack.services.eventbridge", "_SCHEDULER_TICK_INTERVAL", ("x",)),
]):
    print(text)
"""
    done = subprocess.run([str(PYTHON), "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "ministack.services.sqs._no_such_name: no such name",
        "ministack.services.no_such_module.x: module cannot be imported "
        "(No module named 'ministack.services.no_such_module')",
        "ministack.services.eventbridge._now_ts: takes (), expected (moment)",
        "ministack.services.eventbridge._SCHEDULER_TICK_INTERVAL: not callable",
    ]
