"""Rows of a bill, by name and by price."""

from __future__ import annotations

import pytest

from roundhouse.build.bill import Billed, by_price, classify, read_bill
from roundhouse.build.records import BilledUsage
from roundhouse.build.spec import BillingPatterns, Discount, DiscountKind
from tests.build.samples import BY_ACCOUNT, GPU, T0, billed, group, minutes

GROUP = group(discount=BY_ACCOUNT)  # 8 reserved, 16 on demand
PATTERNS = BillingPatterns()


@pytest.mark.parametrize(
    ("usage_type", "rate", "kind"),
    [
        (f"USW2-Cluster-Reserved:{GPU}", 8.0, Billed.RESERVED),
        (f"USW2-Cluster-Reserved:{GPU}", 8.7, Billed.RESERVED),
        (f"USW2-Cluster-Reserved:{GPU}", 0.0, Billed.RESERVED),
        (f"USW2-Cluster-Reserved:{GPU}", 11.0, Billed.UNCLEAR),
        (f"USW2-Cluster-Reserved:{GPU}", 16.0, Billed.ON_DEMAND),
        (f"USW2-Cluster:{GPU}", 16.0, Billed.ON_DEMAND),
        (f"USW2-Cluster:{GPU}", 20.0, Billed.ON_DEMAND),
        (f"USW2-Cluster:{GPU}", 8.0, Billed.UNCLEAR),
        (f"USW2-Cluster-Reserved-Unused:{GPU}", 8.0, Billed.UNUSED),
        (f"USW2-Whatever:{GPU}", 8.0, Billed.RESERVED),
        (f"USW2-Whatever:{GPU}", 16.0, Billed.ON_DEMAND),
        (f"USW2-Whatever:{GPU}", 12.0, Billed.UNCLEAR),
        ("USW2-Cluster:ml.g6.4xlarge", 16.0, Billed.OTHER),
        ("USW2-Cluster:ml.g6.48xlarge.spot", 16.0, Billed.OTHER),
        ("USW2-VolumeUsage", 16.0, Billed.OTHER),
    ],
)
def test_classify(usage_type: str, rate: float, kind: Billed) -> None:
    assert classify(BilledUsage(T0, usage_type, 2.0, 2.0 * rate), GROUP, PATTERNS) is kind


def test_no_hours_are_nothing() -> None:
    assert classify(BilledUsage(T0, f"USW2-Cluster:{GPU}", 0.0, 500.0), GROUP, PATTERNS) is Billed.OTHER


def test_the_names_are_data() -> None:
    patterns = BillingPatterns(on_demand=("OD/{instance_type}",), reserved=("FTP/{instance_type}",), unused=())
    assert classify(BilledUsage(T0, f"FTP/{GPU}", 1.0, 8.0), GROUP, patterns) is Billed.RESERVED
    assert classify(BilledUsage(T0, f"OD/{GPU}", 1.0, 16.0), GROUP, patterns) is Billed.ON_DEMAND


@pytest.mark.parametrize("reserved", [0.0, 15.0, 16.0])
def test_prices_that_are_unknown_or_too_near_decide_nothing(reserved: float) -> None:
    near = group(discount=Discount(DiscountKind.ACCOUNT_RESERVATION, "usw2-az2", None, reserved))
    assert by_price(15.5, near, 0.1) is None


def test_hours_before_the_cluster_are_subtracted_and_partial_hours_prove_nothing() -> None:
    rows = [
        billed(-1, "Cluster", 2, 16.0),
        billed(-1, "Cluster-Reserved", 10, 8.0),
        billed(0, "Cluster", 2.5, 16.0),
        billed(0, "Cluster-Reserved", 40, 8.0),
        billed(1, "Cluster-Reserved", 49, 8.0),
    ]
    found = read_bill(rows, GROUP, PATTERNS, began_at=minutes(5), running_since=minutes(20), until=minutes(120))
    assert found.on_demand_hours == 0.5
    assert found.reserved_per_hour == 39
    early = read_bill(rows, GROUP, PATTERNS, began_at=minutes(5), running_since=None, until=minutes(120))
    assert early.reserved_per_hour is None
