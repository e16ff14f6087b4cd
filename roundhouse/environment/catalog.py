"""The catalog: dated data with provenance, read from catalog/*.toml. Standard library and the pure packages only."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from roundhouse.build.spec import BillingPatterns
from roundhouse.errors import BadInput

FOLDER = Path(__file__).parents[2] / "catalog"


@dataclass(frozen=True, slots=True)
class Price:
    """On-demand USD per instance and hour. `verified` is False when nobody can check where it comes from."""

    on_demand_usd_per_hour: float
    verified: bool
    source: str


@dataclass(frozen=True, slots=True)
class Catalog:
    """What environments are checked against. `prices` by (region, instance type)."""

    az_id_prefixes: dict[str, str]
    prices: dict[tuple[str, str], Price]
    prices_taken: date
    addresses: dict[str, int]
    default_addresses: int
    billing: BillingPatterns

    def price(self, region: str, instance_type: str) -> Price | None:
        """The snapshot's price; None when it has none."""
        return self.prices.get((region, instance_type))

    def addresses_of(self, instance_type: str) -> int:
        """Private IP addresses that a node of that type takes."""
        return self.addresses.get(instance_type, self.default_addresses)


@cache
def load_catalog(folder: Path = FOLDER) -> Catalog:
    """The catalog in `folder`. Raises BadInput when a file is missing or not as documented in its head."""
    try:
        prices, regions, instances, billing = (
            _read(folder / f"{name}.toml") for name in ("prices", "regions", "instances", "billing")
        )
        return Catalog(
            az_id_prefixes=dict(regions["az_id_prefix"]),
            prices={
                (row["region"], row["instance_type"]): Price(
                    float(row["on_demand_usd_per_hour"]), row["status"] == "verified", row["source"]
                )
                for row in prices["price"]
            },
            prices_taken=prices["snapshot"]["taken"],
            addresses={row["instance_type"]: row["addresses"] for row in instances["instance"]},
            default_addresses=instances["snapshot"]["default_addresses"],
            billing=_billing(billing["usage_type"]),
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"the catalog in {folder} cannot be read: {error!r}. Restore it from version control") from error


def _billing(table: dict[str, Any]) -> BillingPatterns:
    return BillingPatterns(
        on_demand=tuple(table["on_demand"]),
        reserved=tuple(table["reserved"]),
        unused=tuple(table["unused"]),
        price_tolerance=float(table["price_tolerance"]),
    )


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
