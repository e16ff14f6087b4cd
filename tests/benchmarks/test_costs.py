from __future__ import annotations

import tomllib
from collections import Counter

import pytest

from benchmarks.costs import priced, table
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
