"""What a repair costs, and a month in which nothing happens: `python -m benchmarks.costs`. A table, then one JSON line.

The embedded AWS counts: calls by role, states entered, functions run and what they wrote. `idle` is counted over some
virtual hours of a standing cluster and taken for a month; `repair` is the demo's repair act less what those minutes
cost anyway. Prices are catalog/services.toml's. Durations of functions are this machine's, with AWS on loopback: take
them for an order of magnitude.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from roundhouse.contracts.names import METRIC_NAMESPACE
from simulator.client import REPOSITORY
from simulator.demo.acts import given, repair
from simulator.demo.assembly import synthesize
from simulator.demo.checks import Checks
from simulator.demo.house import Deployed, House, opened
from simulator.demo.play import SCENARIO
from simulator.demo.stage import Stage
from stacks.functions import FUNCTIONS
from stacks.permissions import MACHINES

ENVIRONMENT, SCALE, IDLE = "demo", 300.0, timedelta(hours=3)
MONTH = timedelta(days=365) / 12
WRITE_UNIT, READ_UNIT = 1024, 4096
INDEXED = ("-incidents", "-ledger", "-approvals")  # a write to them is one to their index, too
POLLED = 3  # queues that feed functions: intake, settle, outbox
_REPORT = re.compile(r"REPORT RequestId: \S+\s+Duration: ([\d.]+) ms")
Json = dict[str, Any]
Usage = Mapping[str, float]


@dataclass(frozen=True)
class Count:
    """What had been used at a moment, by the names of [once] in the catalogue; what was asked of tables, as
    `action table`; and what was called, for people."""

    at: datetime
    used: Usage
    tables: Counter[str]
    calls: Counter[str]

    def since(self, other: Count) -> Count:
        used = {name: n - other.used.get(name, 0.0) for name, n in self.used.items()}
        return Count(self.at, used, _less(self.tables, other.tables), _less(self.calls, other.calls))

    def units(self, sizes: Mapping[str, int]) -> dict[str, float]:
        """`used` with the units of DynamoDB, for items of these sizes."""
        found = defaultdict(float, self.used)
        for name, times in self.tables.items():
            action, _, table = name.partition(" ")
            match action:
                case "GetItem":
                    found["dynamodb_read_unit"] += times * _units(sizes.get(table, 0), READ_UNIT)
                case "Query":
                    found["dynamodb_read_unit"] += times * _units(sizes.get(f"{table} all", 0), 2 * READ_UNIT)
                case "PutItem":
                    copies = 2 if table.endswith(INDEXED) else 1
                    found["dynamodb_write_unit"] += times * copies * _units(sizes.get(table, 0), WRITE_UNIT)
        return found


def main() -> int:
    """Count, price and print. Returns 1 when the repair did not go as the demo wants it."""
    prices = tomllib.loads((REPOSITORY / "catalog" / "services.toml").read_text())
    scenario = {name: part for name, part in tomllib.loads(SCENARIO.read_text()).items() if name != "fault"}
    with ExitStack() as stack:
        workdir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="costs-")))
        house = opened(stack, scenario, (ENVIRONMENT,), scale=SCALE, workdir=workdir, say=_say)
        checks = Checks()
        stage = Stage(house, checks, _say, interactive=False, patience=60.0)
        given.play(stage)
        start = count(house)
        house.idle(IDLE)
        quiet = count(house)
        repair.play(stage)
        end = count(house)
        sizes = item_sizes(house, house[ENVIRONMENT])
        standing = things(synthesize(ENVIRONMENT), house)
    idle, busy = quiet.since(start), end.since(quiet)
    share = (end.at - quiet.at) / (quiet.at - start.at)
    still, moved = idle.units(sizes), busy.units(sizes)
    repaired = {name: max(0.0, n - share * still.get(name, 0.0)) for name, n in moved.items()}
    month = {name: n * (MONTH / (quiet.at - start.at)) for name, n in still.items()}
    polls = POLLED * prices["queue_polling"]["requests_a_minute"] * (MONTH / timedelta(minutes=1))
    month["sqs_request"] = month.get("sqs_request", 0.0) + polls
    table(repaired, month, standing, prices)
    told = {name: round(n - share * idle.calls[name]) for name, n in busy.calls.items()}
    line = {
        "benchmark": "costs",
        "usd_a_repair": round(priced(repaired, prices["once"]), 4),
        "usd_an_idle_month": round(priced(month, prices["once"]) + priced(standing, prices["month"]), 2),
        "repair": _rounded(repaired),
        "idle_month": _rounded(month),
        "standing": dict(standing),
        "calls_of_a_repair": {name: n for name, n in sorted(told.items()) if n > 0},
        "prices_taken": str(prices["snapshot"]["taken"]),
    }
    print(json.dumps(line))
    return 1 if checks.failed else 0


def count(house: House) -> Count:
    """Everything used until now."""
    deployed, tables, calls = house[ENVIRONMENT], Counter[str](), Counter[str]()
    used: dict[str, float] = defaultdict(float)
    for decision in house.aws.control("decisions")["decisions"]:
        if not decision["stack"].startswith(f"Roundhouse-{ENVIRONMENT}-") or not decision["allowed"]:
            continue
        action, times = str(decision["action"]), int(decision["times"])
        calls[action] += times
        if action.startswith("dynamodb:"):
            on = decision["resource"].partition(":table/")[2].partition("/")[0]
            tables[f"{action.removeprefix('dynamodb:')} {on}"] += times
        match action:
            case "sqs:SendMessage":
                used["sqs_request"] += 3 * times  # sent, received, deleted
            case "secretsmanager:GetSecretValue":
                used["secret_request"] += times
            case "ce:GetCostAndUsage":
                used["cost_question"] += times
    used["state_transition"] += sum(entered(house, deployed))
    for memory_mib, message in log_lines(house, deployed):
        used["log_gigabyte"] += (len(message.encode()) + 26) / 1e9
        if report := _REPORT.match(message):
            used["lambda_request"] += 1
            used["lambda_gb_second"] += float(report[1]) / 1000 * memory_mib / 1024
    used["bus_event"] += sum(stand_in.reports for stand_in in house.slurm.values())
    return Count(house.aws.now(), used, tables, calls)


def item_sizes(house: House, deployed: Deployed) -> dict[str, int]:
    """Bytes of an average item of each table, and of all items of a table under its name and ` all`."""
    dynamodb = house.aws.client("dynamodb")
    found: dict[str, int] = {}
    for name in dynamodb.list_tables()["TableNames"]:
        if name.startswith(deployed.names.table("")):
            items = [i for page in dynamodb.get_paginator("scan").paginate(TableName=name) for i in page["Items"]]
            total = sum(len(json.dumps(item)) for item in items)
            found |= {name: total // max(1, len(items)), f"{name} all": total}
    return found


def entered(house: House, deployed: Deployed) -> Iterator[int]:
    """States entered by each execution of each machine."""
    sfn = house.aws.client("sfn")
    for machine in MACHINES:
        for execution in deployed.executions(machine):
            pages = sfn.get_paginator("get_execution_history").paginate(executionArn=execution["executionArn"])
            yield sum("stateEnteredEventDetails" in event for page in pages for event in page["events"])


def log_lines(house: House, deployed: Deployed) -> Iterator[tuple[int, str]]:
    """(memory of the function in MiB, log line) of everything that functions wrote."""
    logs = house.aws.client("logs")
    for name, running in FUNCTIONS.items():
        group = f"/aws/lambda/{deployed.names.function(name)}"
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group):
            yield from ((running.memory_mib, event["message"]) for event in page["events"])


def things(assembly: Path, house: House) -> Counter[str]:
    """What costs by the month because it exists: in the synthesized templates, and the metrics that functions write."""
    kinds = Counter(
        resource["Type"]
        for path in assembly.glob("*.template.json")
        for resource in json.loads(path.read_text())["Resources"].values()
    )
    listed = house.aws.client("cloudwatch").get_paginator("list_metrics").paginate(Namespace=METRIC_NAMESPACE)
    metrics = sum(len(page["Metrics"]) for page in listed)
    return Counter(alarm=kinds["AWS::CloudWatch::Alarm"], key=kinds["AWS::KMS::Key"], metric=metrics, secret=1)


def priced(used: Mapping[str, float], prices: Mapping[str, float]) -> float:
    return sum(amount * prices[name] for name, amount in used.items())


def table(repaired: Usage, month: Usage, standing: Usage, prices: Json) -> None:
    """Print amounts and dollars side by side."""
    print(f"{'':22} {'a repair':>12} {'USD':>9} {'an idle month':>14} {'USD':>8}")
    for name, price in prices["once"].items():
        one, many = repaired.get(name, 0), month.get(name, 0)
        print(f"{name:22} {one:12.4g} {one * price:9.5f} {many:14.4g} {many * price:8.3f}")
    for name, price in prices["month"].items():
        print(f"{name:22} {'':12} {'':9} {standing.get(name, 0):14} {standing.get(name, 0) * price:8.2f}")
    total = priced(month, prices["once"]) + priced(standing, prices["month"])
    print(f"{'together':22} {'':12} {priced(repaired, prices['once']):9.5f} {'':14} {total:8.2f}")


def _units(size: int, unit: int) -> int:
    return max(1, -(-size // unit))


def _less(more: Counter[str], less: Counter[str]) -> Counter[str]:
    return Counter({name: n - less[name] for name, n in more.items()})


def _rounded(used: Usage) -> dict[str, float]:
    return {name: float(f"{n:.4g}") for name, n in sorted(used.items()) if n}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
