from __future__ import annotations

import tomllib
from collections import Counter
from datetime import UTC, datetime

import pytest

from benchmarks.costs import Count, priced, table
from simulator.client import REPOSITORY

PRICES = tomllib.loads((REPOSITORY / "catalog" / "services.toml").read_text())


def test_the_catalogue_says_when_and_how_sure():
    assert PRICES["snapshot"]["status"] == "unverified"
    assert PRICES["snapshot"]["currency"] == "USD"
    assert all(price > 0 for part in ("once", "month") for price in PRICES[part].values())


def test_dollars_are_amounts_times_prices(capsys):
    repair = Counter(state_transition=40, lambda_request=1_000_000)
    standing = Counter(alarm=10, key=1, metric=0, secret=1)
    assert priced(repair, PRICES["once"]) == pytest.approx(40 * 0.000025 + 0.2)
    assert priced(standing, PRICES["month"]) == pytest.approx(10 * 0.10 + 1 + 0.40)
    table(repair, Counter(), standing, PRICES)
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last == ["together", "0.20100", "2.40"]


def test_what_has_no_price_is_an_error():
    with pytest.raises(KeyError):
        priced(Counter(magic=1), PRICES["once"])


def test_units_of_tables_follow_the_sizes_of_their_items():
    asked = Counter({"GetItem roundhouse-x-runs": 3, "Query roundhouse-x-ledger": 2, "PutItem roundhouse-x-ledger": 5})
    sizes = {"roundhouse-x-runs": 5_000, "roundhouse-x-ledger": 900, "roundhouse-x-ledger all": 20_000}
    count = Count(datetime(2026, 12, 1, tzinfo=UTC), Counter(state_transition=7), asked, Counter())
    assert count.units(sizes) == {"state_transition": 7, "dynamodb_read_unit": 3 * 2 + 2 * 3, "dynamodb_write_unit": 10}
