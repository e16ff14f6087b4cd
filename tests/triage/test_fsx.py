"""FSx file systems: case 414, the week's arithmetic, and the states beside those recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.errors import MalformedEvent
from roundhouse.triage.fsx import WEEK, StorageAction, judge, maintenance_start
from roundhouse.triage.payload import moment
from tests.cases.reading import case

SATURDAY = datetime(2026, 5, 2, 2, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
A = StorageAction


def system(**changes: Any) -> dict[str, Any]:
    [one] = case(414, "c.json")["FileSystems"]
    return {key: value for key, value in (one | changes).items() if value is not None}


def action(name: str, status: str = "IN_PROGRESS", **more: Any) -> dict[str, Any]:
    return {"AdministrativeActionType": name, "Status": status} | more


# Case 414 --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", case(414, "expected.json"))
def test_recorded_states(name: str) -> None:
    recorded = case(414, f"{name}.json")
    [described] = recorded["FileSystems"]
    now = moment(recorded.get("now", "2026-05-06T12:00:00Z"), "now")
    verdict = judge(described, now, recorded.get("stalled_clients", 0))
    assert verdict.action == case(414, "expected.json")[name]
    assert described["FileSystemId"] in verdict.reason
    assert (verdict.hold_until is not None) is (verdict.action is A.WAIT)


def test_hang_alarms_are_held_for_half_an_hour_from_the_start_and_no_longer() -> None:
    assert judge(system(), SATURDAY + 11 * MINUTE, 12).hold_until == SATURDAY + 30 * MINUTE
    ages = {-1: A.REPAIR_ALERT, 0: A.WAIT, 29: A.WAIT, 30: A.REPAIR_ALERT, 7 * 24 * 60: A.WAIT}
    assert {age: judge(system(), SATURDAY + age * MINUTE, 1).action for age in ages} == ages
    assert judge(system(), SATURDAY + 11 * MINUTE, 0).action is A.NONE


# Its kind --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("weekly", "now", "wait"),
    [
        ("7:23:45", datetime(2026, 5, 4, 0, 10, tzinfo=UTC), True),  # from Sunday into Monday
        ("7:23:45", datetime(2026, 5, 4, 0, 15, tzinfo=UTC), False),
        ("1:00:00", datetime(2026, 5, 4, 0, 0, tzinfo=UTC), True),
        ("1:00:00", datetime(2026, 5, 3, 23, 59, tzinfo=UTC), False),
        ("6:02:30", datetime.fromisoformat("2026-05-01T19:41:00-07:00"), True),  # Friday evening there, Saturday in UTC
        ("6:02:30", datetime.fromisoformat("2026-05-02T02:41:00-07:00"), False),
    ],
)
def test_windows_at_the_edges_of_days_and_zones(weekly: str, now: datetime, wait: bool) -> None:
    described = system(LustreConfiguration={"WeeklyMaintenanceStartTime": weekly})
    assert (judge(described, now, 3).action is A.WAIT) is wait


@given(st.integers(1, 7), st.times(), st.timedeltas(timedelta(0), timedelta(days=40_000)).map(SATURDAY.__add__))
def test_the_latest_start_is_less_than_a_week_ago(day: int, clock: Any, now: datetime) -> None:
    start = maintenance_start(f"{day}:{clock:%H:%M}", now)
    assert now - WEEK < start <= now
    assert (start.isoweekday(), start.hour, start.minute, start.second) == (day, clock.hour, clock.minute, 0)
    assert maintenance_start(f"{day}:{clock:%H:%M}", start) == start


@pytest.mark.parametrize(
    "weekly", ["0:02:30", "8:02:30", "6:24:00", "6:02:60", "6:2:30", "Sat 02:30", "6:02:30\n", "٦:02:30"]
)
def test_a_window_that_is_none_is_refused(weekly: str) -> None:
    with pytest.raises(MalformedEvent, match="WeeklyMaintenanceStartTime"):
        maintenance_start(weekly, SATURDAY)


@pytest.mark.parametrize(
    ("changes", "stalled", "wanted", "words"),
    [
        ({"Lifecycle": "AVAILABLE"}, 0, A.NONE, "no client hangs"),
        ({"Lifecycle": "CREATING"}, 0, A.NONE, "being created"),
        ({"Lifecycle": "DELETING"}, 0, A.REPAIR_ALERT, "being deleted"),
        ({"Lifecycle": "MISCONFIGURED_UNAVAILABLE"}, 0, A.REPAIR_ALERT, "do not create it anew"),
        ({"Lifecycle": "MISCONFIGURED"}, 9, A.REPAIR_ALERT, "do not create it anew"),
        ({"Lifecycle": "SLEEPING"}, 0, A.REPAIR_ALERT, "not known"),
        ({"Lifecycle": "FAILED", "FailureDetails": {"Message": "disk"}}, 9, A.RESTORE_WITH_APPROVAL, "(disk)"),
        ({"Lifecycle": "FAILED"}, 0, A.RESTORE_WITH_APPROVAL, "restore a backup"),
        (
            {"Lifecycle": "FAILED", "LustreConfiguration": {"DeploymentType": "SCRATCH_2"}},
            0,
            A.RESTORE_WITH_APPROVAL,
            "no backups",
        ),
        ({"LustreConfiguration": None}, 3, A.REPAIR_ALERT, "hang"),
        ({"Lifecycle": "UPDATING", "AdministrativeActions": None}, 0, A.NONE, "no client hangs"),
        ({"Lifecycle": "UPDATING", "AdministrativeActions": "x"}, 0, A.NONE, "no client hangs"),
        (
            {"Lifecycle": "UPDATING", "AdministrativeActions": [action("STORAGE_OPTIMIZATION")]},
            0,
            A.NONE,
            "STORAGE_OPTIMIZATION",
        ),
        (
            {"Lifecycle": "UPDATING", "AdministrativeActions": [action("FILE_SYSTEM_UPDATE", "FAILED")]},
            0,
            A.REPAIR_ALERT,
            "FILE_SYSTEM_UPDATE failed",
        ),
        (
            {
                "Lifecycle": "UPDATING",
                "AdministrativeActions": [
                    action("FILE_SYSTEM_UPDATE", "FAILED"),
                    action("FILE_SYSTEM_UPDATE", "PENDING"),
                ],
            },
            0,
            A.NONE,
            "FILE_SYSTEM_UPDATE",
        ),  # tried again
        ({"AdministrativeActions": [action("FILE_SYSTEM_UPDATE", "FAILED")]}, 0, A.NONE, ""),  # long past
    ],
)
@pytest.mark.parametrize("age", [-60, 60])
def test_states(changes: dict[str, Any], stalled: int, wanted: StorageAction, words: str, age: int) -> None:
    verdict = judge(system(**changes), SATURDAY + age * MINUTE, stalled)
    assert (verdict.action, verdict.hold_until) == (wanted, None)
    assert words in verdict.reason


@pytest.mark.parametrize(("age", "wanted"), [(5, A.WAIT), (29, A.WAIT), (30, A.REPAIR_ALERT), (6000, A.REPAIR_ALERT)])
@pytest.mark.parametrize("as_text", [True, False])
def test_an_update_explains_a_pause_when_it_has_just_begun(age: int, wanted: StorageAction, as_text: bool) -> None:
    """Growing storage takes days; the pause is at its start, and a hang later is no part of it."""
    now = datetime(2026, 5, 6, 12, 0, tzinfo=UTC)
    began = now - age * MINUTE
    growing = action("FILE_SYSTEM_UPDATE", RequestTime=began.isoformat() if as_text else began)
    described = system(Lifecycle="UPDATING", AdministrativeActions=[growing])
    assert judge(described, now, 4).action is wanted
    undated = system(Lifecycle="UPDATING", AdministrativeActions=[action("FILE_SYSTEM_UPDATE")])
    assert judge(undated, now, 4).action is A.REPAIR_ALERT


@pytest.mark.parametrize("broken", [{"FileSystemId": None}, {"Lifecycle": None}, {"Lifecycle": 7}])
def test_what_is_broken_is_named(broken: dict[str, Any]) -> None:
    with pytest.raises(MalformedEvent, match=next(iter(broken))):
        judge(system(**broken), SATURDAY)
