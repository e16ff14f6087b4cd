"""AWS Health in the simulator: pages, copies, moved and closed events, and what the work does to a node."""

from __future__ import annotations

from datetime import timedelta

from roundhouse.contracts.names import HEALTH_EVENT, HEALTH_SOURCE
from roundhouse.triage.aws_health import join, read
from tests.simulator_world.harness import Bench


def told(bench: Bench) -> list[dict[str, object]]:
    return [
        {
            "source": HEALTH_SOURCE,
            "detail-type": HEALTH_EVENT,
            "id": str(n),
            "account": "111122223333",
            "detail": each["detail"],
        }
        | {"time": each["time"].isoformat()}
        for n, each in enumerate(bench.signals.events)
        if each["source"] == HEALTH_SOURCE
    ]


def test_pages_and_copies_join_to_one_change() -> None:
    bench = Bench()
    bench.create(4)
    ids = [node["instance_id"] for node in bench.nodes()]
    answer = bench.control("announce", instance_ids=ids, starts="+2h", ends="+3h", pages=2)
    bench.run(1)
    assert answer["messages"] == len(told(bench)) == 4
    [change] = join(n for each in told(bench) if (n := read(each)) is not None)
    assert (sorted(change.entities), change.missing_pages, change.status) == (sorted(ids), (), "upcoming")
    assert change.ends is not None
    assert change.starts is not None
    assert change.ends - change.starts == timedelta(hours=1)


def test_the_work_restarts_the_instance_and_keeps_it() -> None:
    bench = Bench()
    bench.create(4)
    before = bench.nodes()[1]
    bench.control("announce", instance_ids=[before["instance_id"]], starts="+1h", ends="+2h", effect="reboot")
    bench.run(61)
    assert bench.nodes()[1]["status"] == "Pending"
    bench.until(lambda: bool(bench.nodes()[1]["status"] == "Running"))
    after = bench.nodes()[1]
    assert (after["instance_id"], after["boots"]) == (before["instance_id"], before["boots"] + 1)
    assert bench.running() == 4


def test_a_moved_or_closed_event_does_nothing_at_its_old_time() -> None:
    bench = Bench()
    bench.create(4)
    one, two = (node["instance_id"] for node in bench.nodes()[:2])
    for name, instance in (("a", one), ("b", two)):
        bench.control("announce", instance_ids=[instance], starts="+1h", event=name, effect="reboot")
    bench.control("announce", instance_ids=[one], starts="+4h", event="a", effect="reboot")
    bench.control("announce", instance_ids=[two], starts="+1h", event="b", status="closed")
    bench.run(75)
    assert bench.running() == 4
    bench.run(166)
    assert [n["status"] for n in bench.nodes()[:2]] == ["Pending", "Running"]
