"""Scenario files: clear errors, and what each shipped one makes happen."""

import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from simulator import scenario_file
from simulator.scenario_file import ScenarioInvalid
from tests.simulator_world.harness import AZ1, AZ2, Bench, controller, group, plan, request, scenario

CONTRACT = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/contract-g6-plan"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"firstcall_latch": True}, "firstcall_latch: unknown key; known here: name, summary"),
        ({"timing": {"worker_lunch": 3}}, "timing.worker_lunch: unknown key"),
        ({"timing": {"reboot": "soon"}}, "timing.reboot: 'soon' is not a duration"),
        ({"timing": {"reboot": -1}}, "timing.reboot: -1 is not a duration"),
        ({"seed": "seven"}, "seed: 'seven' is not a int"),
        ({"first_call_latch": 1}, "first_call_latch: 1 is not a bool"),
        ({"account": "12"}, "account: '12' is not 12 digits"),
        ({"subnet": [{"id": "subnet-1"}]}, "subnet[0].cidr: missing"),
        ({"training_plan": [plan(az_id="usw2-az9")]}, "training_plan[0].az_id: no subnet is in 'usw2-az9'"),
        ({"training_plan": [plan(instance_type="ml.x.large")]}, "no [[price]] for 'ml.x.large'"),
        ({"training_plan": [plan(window=[])]}, "training_plan[0].window: at least one block"),
        ({"training_plan": [plan(window=[{"start": "tomorrow", "end": "+1d"}])]}, "'tomorrow' is not a moment"),
        ({"training_plan": [plan(status="Fine")]}, "'Fine' is not a plan status"),
        ({"file_system": [{"id": "fs-1", "subnet": "nowhere"}]}, "file_system[0].subnet: no subnet 'nowhere'"),
        ({"fault": [{"kind": "earthquake"}]}, "fault[0].kind: 'earthquake' is not one of"),
        ({"fault": [{"kind": "lost_answer"}]}, "fault[0].operation"),
        ({"fault": "all"}, "fault: 'all' is not a"),
        ({"quirks": {"vanish": "sometimes"}}, "quirks.vanish"),
        ({"quirks": []}, "quirks: a table is expected"),
    ],
)
def test_problems_are_named_with_their_place(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ScenarioInvalid) as caught:
        Bench(scenario(**changes))
    assert text in str(caught.value)


def test_every_problem_is_reported_at_once() -> None:
    with pytest.raises(ScenarioInvalid) as caught:
        Bench(scenario(account="1", training_plan=[plan(window=[])], fault=[{"kind": "stuck"}]))
    assert str(caught.value).count("\n  - ") == 3


def test_load_by_name_by_path_or_not_at_all(tmp_path: Path) -> None:
    assert scenario_file.load("demo")["name"] == "demo"
    assert scenario_file.load(scenario_file.FOLDER / "shortage.toml")["name"] == "shortage"
    with pytest.raises(ScenarioInvalid, match="give a path or one of demo, first_call_latch, shortage, wrong_az"):
        scenario_file.load("holiday")
    broken = tmp_path / "broken.toml"
    broken.write_text("seed = ")
    with pytest.raises(ScenarioInvalid, match=r"broken\.toml is not TOML"):
        scenario_file.load(broken)


@pytest.mark.parametrize("path", sorted(scenario_file.FOLDER.glob("*.toml")), ids=lambda p: p.stem)
def test_shipped_scenarios_are_valid_and_named_like_their_files(path: Path) -> None:
    parsed = scenario_file.parse(scenario_file.load(path))
    assert parsed.name == path.stem
    assert parsed.summary


def shipped(name: str) -> Bench:
    return Bench(scenario_file.load(name))


def staged(bench: Bench, first: int, arn: str | None = CONTRACT, *, subnet: str = AZ2) -> None:
    bench.create(subnet=subnet, InstanceGroups=[controller(), group("workers", first, TrainingPlanArn=arn)])


def add(bench: Bench, count: int) -> None:
    spec = {"InstanceGroupName": "workers", "IncrementTargetCountBy": count}
    bench.call("BatchAddClusterNodes", {"ClusterName": "train", "NodesToAdd": [spec]})


def test_demo() -> None:
    bench = shipped("demo")
    staged(bench, 39)
    bench.until(lambda: bench.running() == 39)
    assert [x["outcome"] for x in bench.nodes()[5]["launches"]] == ["lifecycle", "running"]
    add(bench, 25)
    bench.run(12)
    assert bench.running() == 39
    errors = len(bench.texts("Failed to provision EC2 Instance"))
    assert errors >= 25
    bench.until(lambda: bench.running() == 64, minutes=40)
    meter = bench.control("meter")
    assert meter["per_hour"] == {"on-demand": 0.46, "reserved": 512.0, "reserved-idle": 0}
    assert meter["per_hour_total"] == meter["per_hour_expected"]


def test_wrong_az() -> None:
    bench = shipped("wrong_az")
    staged(bench, 39, None)
    bench.until(lambda: bench.running() == 39)
    assert {n["billed"] for n in bench.nodes()} == {"on-demand"}
    assert len(bench.texts("using on-demand pool")) == 39
    right = shipped("wrong_az")
    staged(right, 39, None, subnet=AZ1)
    right.until(lambda: right.running() == 39)
    assert {n["billed"] for n in right.nodes()} == {"reserved"}


def test_first_call_latch() -> None:
    bench = shipped("first_call_latch")
    staged(bench, 0)
    add(bench, 39)
    bench.until(lambda: bench.running() == 39)
    assert len(bench.texts("using reserved capacity")) == 39
    assert {n["billed"] for n in bench.nodes()} == {"on-demand"}
    meter = bench.control("meter")
    assert meter["per_hour_total"] > 2 * meter["per_hour_expected"] - 1


def test_shortage() -> None:
    bench = shipped("shortage")
    staged(bench, 39)
    bench.until(lambda: bench.running() == 39)
    add(bench, 25)
    bench.run(180)
    assert bench.running() == 39
    assert bench.group()["TargetCount"] == 64
    assert bench.describe()["ClusterStatus"] == "InService"


def test_the_same_seed_is_the_same_world() -> None:
    def story() -> list[Any]:
        bench = Bench(scenario(seed=9, timing={"worker_launch": [300, 900]}))
        bench.create(6)
        return [bench.nodes(None), bench.history()]

    assert story() == story()


def test_calls_and_ticks_from_many_threads() -> None:
    bench = Bench()
    bench.create(0)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(5):
                spec = {"InstanceGroupName": "workers", "IncrementTargetCountBy": 1}
                token = f"{number % 4}-{i}"
                add_one = {"ClusterName": "train", "ClientToken": token, "NodesToAdd": [spec]}
                bench.call("BatchAddClusterNodes", add_one)
                bench.world.tick(bench.clock.now())
                bench.control("nodes")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert bench.group()["TargetCount"] == 20
    bench.run(30)
    assert bench.running() == 20
    ids = [d["detail"]["EventDetails"]["EventId"] for d in bench.signals.events if "EventDetails" in d["detail"]]
    assert len(ids) == len(set(ids))


def test_one_thread_at_a_time_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    inside: list[int] = []
    crowd: list[int] = []

    def slow_now() -> datetime:
        inside.append(1)
        crowd.append(len(inside))
        time.sleep(0.01)
        inside.pop()
        return bench.clock.time

    monkeypatch.setattr(bench.clock, "now", slow_now)
    threads = [threading.Thread(target=bench.call, args=("ListClusters", {})) for _ in range(4)]
    threads += [threading.Thread(target=bench.control, args=("nodes",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert crowd == [1] * 8


def test_a_signal_may_call_back_into_the_world() -> None:
    bench = Bench()
    seen: list[str] = []

    def callback(**event: Any) -> None:
        worker = threading.Thread(target=lambda: seen.append(bench.describe()["ClusterStatus"]))
        worker.start()
        worker.join(timeout=5)

    bench.signals.event = callback  # type: ignore[method-assign]
    bench.call("CreateCluster", request(1))
    bench.run(1)
    assert seen
    assert set(seen) == {"Creating"}


def test_subnets_are_told_to_the_network() -> None:
    assert Bench().world.subnets[0] == {
        "SubnetId": AZ2,
        "VpcId": "vpc-0123456789abcdef0",
        "AvailabilityZone": "us-west-2b",
        "AvailabilityZoneId": "usw2-az2",
        "CidrBlock": "10.1.0.0/20",
    }
