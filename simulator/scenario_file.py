"""Reads scenarios from TOML and checks them.

Touches only the scenario file it is asked to read. Every problem is reported at once with its path, so that a misspelt
key cannot quietly make a test prove nothing.
"""

import dataclasses
import re
import tomllib
import types
import typing
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roundhouse.errors import BadInput
from simulator.scenario import FAULT_KINDS, Fault, Moment, Quirks, Range, Scenario, Seconds

FOLDER = Path(__file__).parent / "scenarios"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class ScenarioInvalid(BadInput, ValueError):
    """A scenario has problems; the message lists every one."""


def load(name: str | Path) -> dict[str, Any]:
    """Decoded TOML of a scenario: a path, or the bare name of one in scenarios/. Raises ScenarioInvalid."""
    path = Path(name)
    if not path.exists():
        path = FOLDER / f"{name}.toml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in FOLDER.glob("*.toml")))
        raise ScenarioInvalid(f"no scenario {name!s}: give a path or one of {known}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioInvalid(f"{path.name} is not TOML: {error}") from error


def parse(table: dict[str, Any]) -> Scenario:
    """The scenario that decoded TOML describes. Raises ScenarioInvalid with every problem found."""
    problems: list[str] = []
    scenario = _table(Scenario, table, "", problems)
    if scenario is not None:
        problems += _cross_checks(scenario)
    if problems or scenario is None:
        raise ScenarioInvalid("scenario has problems:\n" + "\n".join(f"  - {p}" for p in problems))
    return typing.cast(Scenario, scenario)


def parse_fault(table: dict[str, Any]) -> Fault:
    """One fault from a control command, checked like the ones in a file. Raises ScenarioInvalid."""
    problems: list[str] = []
    fault = _table(Fault, table, "fault", problems)
    if fault is not None:
        problems += _fault_checks(fault, "fault")
    if problems:
        raise ScenarioInvalid("; ".join(problems))
    return typing.cast(Fault, fault)


def read_quirk(key: str, value: Any) -> Any:
    """The value of one switch from a control command. Raises ScenarioInvalid."""
    problems: list[str] = []
    quirks = _table(Quirks, {key: value}, "quirks", problems)
    if quirks is not None:
        problems += _quirk_checks(quirks)
    if problems:
        raise ScenarioInvalid("; ".join(problems))
    return getattr(quirks, key)


def read_moment(value: Any, key: str) -> Moment:
    """A moment from a control command: a date and time, or "+40m" from now. Raises ScenarioInvalid."""
    try:
        return _moment(value)
    except (TypeError, ValueError) as error:
        raise ScenarioInvalid(f"{key}: {error}") from error


def _cross_checks(s: Scenario) -> list[str]:
    problems = []
    if not re.fullmatch(r"\d{12}", s.account):
        problems.append(f"account: {s.account!r} is not 12 digits")
    problems += _pool_checks(s)
    for i, plan in enumerate(s.training_plan):
        if not plan.window:
            problems.append(f"training_plan[{i}].window: at least one block of start and end is needed")
        if plan.status not in (None, "Pending", "Failed", "Expired", "Scheduled", "Active"):
            problems.append(f"training_plan[{i}].status: {plan.status!r} is not a plan status")
    for i, fs in enumerate(s.file_system):
        if fs.subnet not in {n.id for n in s.subnet}:
            problems.append(f"file_system[{i}].subnet: no subnet {fs.subnet!r}")
    problems += _quirk_checks(s.quirks)
    for i, fault in enumerate(s.fault):
        problems += _fault_checks(fault, f"fault[{i}]")
    return problems


def _quirk_checks(quirks: Quirks) -> list[str]:
    checks = [
        (quirks.current_count not in ("provisioned", "running"), "current_count: one of 'provisioned', 'running'"),
        (quirks.vanish not in ("plain", "all", "none"), "vanish: one of 'plain', 'all', 'none'"),
        (not 0 <= quirks.duplicates <= 1, "duplicates: a chance between 0 and 1"),
    ]
    return [f"quirks.{text}" for broken, text in checks if broken]


def _pool_checks(s: Scenario) -> list[str]:
    problems = []
    az_ids = {n.az_id for n in s.subnet}
    prices = {p.instance_type for p in s.price}
    pools: list[tuple[str, list[Any]]] = [
        ("on_demand", s.on_demand),
        ("training_plan", s.training_plan),
        ("account_reservation", s.account_reservation),
    ]
    for key, entries in pools:
        for i, pool in enumerate(entries):
            if pool.az_id not in az_ids:
                problems.append(f"{key}[{i}].az_id: no subnet is in {pool.az_id!r} (there are {sorted(az_ids)})")
            if pool.instance_type not in prices:
                problems.append(f"{key}[{i}].instance_type: no [[price]] for {pool.instance_type!r}")
    return problems


def _fault_checks(fault: Fault, path: str) -> list[str]:
    checks = [
        (fault.kind not in FAULT_KINDS, f"kind: {fault.kind!r} is not one of {', '.join(FAULT_KINDS)}"),
        (
            fault.kind in ("throttle", "lost_answer", "quota") and not fault.operation,
            f"operation: a {fault.kind} needs the operation it hits ('BatchAddClusterNodes')",
        ),
        (
            fault.kind == "stuck" and fault.status not in ("Pending", "ShuttingDown"),
            "status: a node is stuck in 'Pending' or 'ShuttingDown'",
        ),
        (
            fault.kind == "replacement_failure" and fault.reason not in (None, "capacity", "efa", "lifecycle"),
            "reason: one of 'capacity', 'efa', 'lifecycle'",
        ),
    ]
    return [f"{path}.{text}" for broken, text in checks if broken]


def _table(cls: type[Any], value: Any, path: str, problems: list[str]) -> Any:
    """An instance of the dataclass `cls` from a TOML table, or None after noting why not."""
    if not isinstance(value, dict):
        problems.append(f"{path}: a table is expected, not {value!r}")
        return None
    known = {f.name: f for f in dataclasses.fields(cls)}
    hints = typing.get_type_hints(cls)
    dot = f"{path}." if path else ""
    before = len(problems)
    for key in value:
        if key not in known:
            problems.append(f"{dot}{key}: unknown key; known here: {', '.join(known)}")
    arguments: dict[str, Any] = {}
    for name, spec in known.items():
        if name in value:
            arguments[name] = _value(hints[name], value[name], f"{dot}{name}", problems)
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            problems.append(f"{dot}{name}: missing")
    return cls(**arguments) if len(problems) == before else None


def _value(kind: Any, value: Any, path: str, problems: list[str]) -> Any:
    """`value` as the annotated type `kind`, or None after noting why not."""
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        kind = next(k for k in typing.get_args(kind) if k is not type(None))
    try:
        if kind in _READERS:
            return _READERS[kind](value)
        if dataclasses.is_dataclass(kind):
            return _table(typing.cast(type[Any], kind), value, path, problems)
        return _plain(kind, value, path, problems)
    except (TypeError, ValueError) as error:
        problems.append(f"{path}: {error}")
        return None


def _plain(kind: Any, value: Any, path: str, problems: list[str]) -> Any:
    """Lists, maps and scalars."""
    origin = typing.get_origin(kind)
    if origin is list and isinstance(value, list):
        inner = typing.get_args(kind)[0]
        return [_value(inner, v, f"{path}[{i}]", problems) for i, v in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        inner = typing.get_args(kind)[1]
        return {k: _value(inner, v, f"{path}.{k}", problems) for k, v in value.items()}
    if kind is float and type(value) in (int, float):
        return float(value)
    if type(value) is kind:
        return value
    raise ValueError(f"{value!r} is not a {getattr(kind, '__name__', kind)}")


def _seconds(value: Any) -> float:
    if type(value) in (int, float) and value >= 0:
        return float(value)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", value) if isinstance(value, str) else None
    if not match:
        raise ValueError(f"{value!r} is not a duration: seconds, or '90s', '15m', '8h', '30d'")
    return float(match[1]) * _UNITS[match[2]]


def _moment(value: Any) -> Moment:
    if isinstance(value, datetime):
        return Moment(absolute=value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, str) and value[:1] in ("+", "-"):
        return Moment(offset=_seconds(value[1:]) * (-1 if value[0] == "-" else 1))
    raise ValueError(f"{value!r} is not a moment: a TOML date-time, or '+40m' / '-1d' from the start of the world")


def _range(value: Any) -> tuple[float, float]:
    low, high = value if isinstance(value, list) else (value, value)
    return _seconds(low), _seconds(high)


_READERS: dict[Any, Callable[[Any], Any]] = {Seconds: _seconds, Range: _range, Moment: _moment}
