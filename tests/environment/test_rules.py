"""Each rule with what it accepts and what it finds."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from roundhouse.environment import rules
from roundhouse.environment.load import examine
from tests.environment.samples import GONE, changed

LOGIN = {"name": "login", "role": "Login", "instance_type": "ml.m5.2xlarge", "count": 1}
PLAN = "groups[1].discount.training_plan_arn"
ANOTHER_PLAN = "arn:aws:sagemaker:{}:{}:training-plan/p"
FS2 = {
    "id": "fs-00000000000000000",
    "dns_name": "fs-00000000000000000.fsx.us-west-2.amazonaws.com",
    "mount_name": "m",
    "mount_path": "/data",
    "az_id": "usw2-az2",
}

# rule: (changes that are fine, [(changes, path of the problem, a word of its reason)])
LEGACY: dict[str, Any] = {"cluster.provisioning_mode": "legacy"}
TABLE: dict[str, tuple[list[dict[str, Any]], list[tuple[dict[str, Any], str, str]]]] = {
    "region_is_known": ([], [({"region": "us-north-9"}, "region", "catalog")]),
    "az_is_in_region": (
        [],
        [({"az_id": "use1-az2"}, "az_id", "usw2-az"), ({"az_id": "usw1-az2"}, "az_id", "begin")],
    ),
    "names_are_given_once": (
        [{"storage[1]": FS2}],
        [
            ({"network.subnet_ids": ["subnet-0123456789abcdef0"] * 2}, "network.subnet_ids[1]", "twice"),
            ({"network.security_group_ids": ["sg-0123456789abcdef0"] * 2}, "network.security_group_ids[1]", "twice"),
            ({"storage[1]": FS2 | {"mount_path": "/fsx"}}, "storage[1]", "twice"),
        ],
    ),
    "storage_is_in_az": ([{"storage": []}], [({"storage[0].az_id": "usw2-az1"}, "storage[0].az_id", "cross AZs")]),
    "storage_name_fits": (
        [],
        [
            (
                {"storage[0].dns_name": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com"},
                "storage[0].dns_name",
                "begins with",
            )
        ],
    ),
    "subnets_are_large_enough": (
        [{"network.free_addresses": 65}, {"network.free_addresses": GONE}],
        [
            ({"network.free_addresses": 64}, "network.free_addresses", "65 addresses"),
            ({"groups[1].instance_type": "ml.p5.48xlarge"}, "network.free_addresses", "2049"),
        ],
    ),
    "roles_are_of_account": (
        [{"groups[1].execution_role_arn": "arn:aws:iam::111122223333:role/own"}],
        [
            ({"cluster.execution_role_arn": "arn:aws:iam::444455556666:role/x"}, "cluster.execution_role_arn", "other"),
            (
                {"groups[1].execution_role_arn": "arn:aws:iam::444455556666:role/x"},
                "groups[1].execution_role_arn",
                "another account",
            ),
        ],
    ),
    "rehearsal_takes_no_reserved_capacity": (
        [{"rehearsal.instance_type": "ml.m5.2xlarge"}, {"rehearsal.instance_type": "ml.g6.48xlarge"}],
        [
            (
                {
                    "rehearsal.instance_type": "ml.g6.48xlarge",
                    "groups[1].discount": {
                        "kind": "account_reservation",
                        "az_id": "usw2-az2",
                        "reserved_usd_per_hour": 8.0,
                    },
                },
                "rehearsal.instance_type",
                "take from it first",
            )
        ],
    ),
    "plans_are_of_account": (
        [],
        [
            ({PLAN: ANOTHER_PLAN.format("us-east-1", "111122223333")}, PLAN, "us-east-1"),
            ({PLAN: ANOTHER_PLAN.format("us-west-2", "444455556666")}, PLAN, "444455556666"),
        ],
    ),
    "lifecycle_bucket_is_readable": (
        [{"cluster.lifecycle.s3_uri": "s3://sagemaker-x"}],
        [({"cluster.lifecycle.s3_uri": "s3://my-bucket/x"}, "cluster.lifecycle.s3_uri", "s3://sagemaker-")],
    ),
    "names_are_unique": ([], [({"groups[1].name": "controller"}, "groups[1].name", "another group")]),
    "one_controller": (
        [],
        [
            ({"groups[0].role": "Login"}, "groups", "0 Controller"),
            ({"groups[2]": LOGIN | {"role": "Controller"}}, "groups", "2 Controller"),
            ({"groups[0].count": 2}, "groups[0].count", "provisioning file"),
        ],
    ),
    "some_compute": ([], [({"groups[1].role": "Login"}, "groups", "no Compute")]),
    "partitions_are_for_compute": (
        [{"groups[1].partition": GONE}],
        [({"groups[0].partition": "gpu"}, "groups[0].partition", "only be given to Compute")],
    ),
    "stages_rise_to_contract": (
        [
            {"groups[1].first_stage_share": 1.0},
            {"groups[1].first_stage_share": 0.9},
            {"groups[1].first_stage_share": 0.5, "groups[1].further_stages": [0.75, 1.0]},
        ],
        [
            ({"groups[1].further_stages": [0.5, 1.0]}, "groups[1].further_stages", "must rise"),
            ({"groups[1].further_stages": [0.8, 0.8, 1.0]}, "groups[1].further_stages", "must rise"),
            ({"groups[1].further_stages": [0.8]}, "groups[1].further_stages", "whole contract"),
            ({"groups[1].further_stages": []}, "groups[1].further_stages", "whole contract"),
        ],
    ),
    "only_compute_is_staged": (
        [{"groups[2]": LOGIN | {"first_stage_share": 1.0}}],
        [({"groups[0].first_stage_share": 0.5}, "groups[0]", "created whole")],
    ),
    "legacy_has_time": (
        [
            {"cluster.provisioning_mode": "legacy"},
            {"waits.shortage_timeout": "10m"},
            {"waits.stage_timeout": "10m"},
        ],
        [
            (LEGACY | {"waits.shortage_timeout": "19m"}, "waits.shortage_timeout", "undoes a whole update"),
            (LEGACY | {"waits.stage_timeout": "29m"}, "waits.stage_timeout", "every node of a stage"),
        ],
    ),
    "legacy_stages_add_nodes": (
        [LEGACY, LEGACY | {"groups[1].count": 50, "groups[1].further_stages": [0.8, 1.0]}],
        [
            (
                LEGACY | {"groups[1].count": 2, "groups[1].further_stages": [0.8, 1.0]},
                "groups[1].further_stages",
                "adds none",
            ),
        ],
    ),
    "discounts_are_in_az": (
        [{"groups[1].discount": {"kind": "none"}}],
        [
            ({"groups[1].discount.az_id": "usw2-az1"}, "groups[1].discount.az_id", "another AZ"),
            (
                {
                    "groups[1].discount": {
                        "kind": "account_reservation",
                        "az_id": "usw2-az3",
                        "reserved_usd_per_hour": 8.0,
                    }
                },
                "groups[1].discount.az_id",
                "silently",
            ),
        ],
    ),
    "only_compute_is_discounted": (
        [],
        [
            (
                {
                    "groups[0].discount": {
                        "kind": "account_reservation",
                        "az_id": "usw2-az2",
                        "reserved_usd_per_hour": 0.1,
                    }
                },
                "groups[0].discount",
                "Controller group",
            )
        ],
    ),
    "price_is_known": (
        [{"groups[1].on_demand_usd_per_hour": GONE}],
        [
            (
                {"groups[1].on_demand_usd_per_hour": GONE, "groups[1].instance_type": "ml.g6.47xlarge"},
                "groups[1].on_demand_usd_per_hour",
                "no on-demand price",
            )
        ],
    ),
    "discount_is_cheaper": (
        [{"groups[1].discount.reserved_usd_per_hour": 15.9}],
        [
            (
                {"groups[1].discount.reserved_usd_per_hour": 16.0},
                "groups[1].discount.reserved_usd_per_hour",
                "no less",
            )
        ],
    ),
    "ladders_rise_to_people": (
        [{"policy.rules.hardware.ladder": ["human"]}],
        [
            (
                {"policy.rules.hardware.ladder": ["replace", "reboot", "human"]},
                "policy.rules.hardware.ladder",
                "gentle",
            ),
            ({"policy.rules.hardware.ladder": ["reboot", "reboot", "human"]}, "policy.rules.hardware.ladder", "once"),
            ({"policy.rules.hardware.ladder": ["reboot"]}, "policy.rules.hardware.ladder", "people must be told"),
        ],
    ),
    "rungs_are_performed": (
        [{"policy.rules.hardware.ladder": ["reboot", "replace", "delete_restore", "human"]}],
        [
            (
                {"policy.rules.hardware.ladder": ["reset_gpu", "human"]},
                "policy.rules.hardware.ladder[0]",
                "does not perform",
            )
        ],
    ),
    "some_causes_are_only_observed": (
        [{"policy.rules.unknown": {"mode": "observe"}}],
        [
            ({"policy.rules.unknown": {"mode": "ask"}}, "policy.rules.unknown.mode", "does not help"),
            ({"policy.rules.capacity": {"mode": "act"}}, "policy.rules.capacity.mode", "does not help"),
        ],
    ),
    "maintenance_has_a_lead_and_no_ladder": (
        [
            {"policy.rules": {"maintenance": {"mode": "act", "lead": "30m"}}, "policy.breaker": GONE},
            {"policy.rules.maintenance": {"mode": "observe"}},
        ],
        [
            ({"policy.rules.hardware.lead": "1h"}, "policy.rules.hardware.lead", "only maintenance"),
            ({"policy.rules.maintenance": {"lead": "1m"}}, "policy.rules.maintenance.lead", "jobs"),
            ({"policy.rules.maintenance": {"lead": "8d"}}, "policy.rules.maintenance.lead", "jobs"),
            ({"policy.rules.maintenance": {"grace": "10m"}}, "policy.rules.maintenance.grace", "climb"),
            ({"policy.rules.maintenance": {"ladder": ["human"]}}, "policy.rules.maintenance.ladder", "climb"),
        ],
    ),
    "acting_needs_a_breaker": (
        [
            {"policy.breaker": GONE, "policy.rules.hardware.mode": "ask"},
            {"policy.breaker": GONE, "policy.rules.hardware.ladder": ["reboot", "human"]},
        ],
        [({"policy.breaker": GONE}, "policy.rules.hardware.mode", "without asking")],
    ),
    "breaker_limits_agree": (
        [{"policy.breaker.day_max": 4}],
        [
            ({"policy.breaker.day_max": 3}, "policy.breaker.short_max", "day_max"),
            ({"policy.breaker.group_short_max": 5}, "policy.breaker.group_short_max", "short_max"),
            ({"policy.breaker.short_percent": 30.0}, "policy.breaker.short_percent", "day_percent"),
            ({"policy.breaker.short_window": "25h"}, "policy.breaker.short_window", "24 hours"),
        ],
    ),
    "grace_leaves_room": (
        [
            {"policy.rules.hardware.grace": "5m"},
            {"policy.rules.hardware.grace": "10s", "cluster.node_recovery": "None"},
            {"policy.rules.hardware.grace": "10s", "policy.rules.hardware.mode": "observe"},
        ],
        [({"policy.rules.hardware.grace": "4m59s"}, "policy.rules.hardware.grace", "time to begin")],
    ),
    "budgets_are_for_repairs": (
        [{"policy.budgets.delete_restore": {"per_day": 1}}],
        [({"policy.budgets.human": {"per_day": 1}}, "policy.budgets.human", "no budget")],
    ),
    "protected_groups_exist": (
        [{"policy.protected_groups": ["workers"]}],
        [({"policy.protected_groups": ["worker"]}, "policy.protected_groups[0]", "no such group")],
    ),
    "floors_fit": (
        [{"policy.capacity_floor.workers": 64}, {"policy.capacity_floor.workers": 0}],
        [
            ({"policy.capacity_floor.workers": 65}, "policy.capacity_floor.workers", "above the contract"),
        ],
    ),
    "floors_are_of_groups": (
        [],
        [({"policy.capacity_floor.worker": 1}, "policy.capacity_floor.worker", "no such group")],
    ),
    "somebody_may_approve": (
        [
            {
                "slack.approvers": [],
                "policy.rules.network.mode": "observe",
                "groups[1].discount": {"kind": "none"},
            }
        ],
        [
            ({"slack.approvers": [], "groups[1].discount": {"kind": "none"}}, "slack.approvers", "a rule asks"),
            ({"slack.approvers": GONE, "policy.rules.network.mode": "observe"}, "slack.approvers", "lost discount"),
        ],
    ),
    "reconciling_is_regular": (
        [{"deployment.reconcile_every": "5m"}, {"deployment.reconcile_every": "6h"}],
        [
            ({"deployment.reconcile_every": "90s"}, "deployment.reconcile_every", "whole minutes"),
            ({"deployment.reconcile_every": "4m"}, "deployment.reconcile_every", "every 5 minutes to 6 hours"),
            ({"deployment.reconcile_every": "7h"}, "deployment.reconcile_every", "every 5 minutes to 6 hours"),
        ],
    ),
    "approvers_are_given_once": (
        [],
        [({"slack.approvers": ["U0123ABCDEF", "U0123ABCDEF"]}, "slack.approvers[1]", "twice")],
    ),
    "parameters_fit": (
        [{"policy.protected_nodes": ["i-0123456789abcdef0"] * 100}],
        [
            ({"policy.protected_nodes": [f"i-{n:017x}" for n in range(400)]}, "policy", "8192"),
            ({"cluster.tags": {f"key{n}": "v" * 250 for n in range(50)}}, "cluster", "8192"),
        ],
    ),
}


def test_every_rule_is_in_the_table_and_every_function_is_a_rule() -> None:
    registered = [rule.__name__ for rule in (*rules.RULES, *rules.WHOLE_RULES)]
    assert sorted(registered) == sorted(TABLE)
    modules = (
        rules.accounts,
        rules.discounts,
        rules.groups,
        rules.legacy,
        rules.people,
        rules.place,
        rules.policy,
        rules.size,
    )
    written = {
        name
        for module in modules
        for name, thing in inspect.getmembers(module, inspect.isgeneratorfunction)
        if not name.startswith("_") and thing.__module__ == module.__name__
    }
    assert written == set(registered)


def test_the_sample_is_good() -> None:
    assert examine(changed())[1] == []


@pytest.mark.parametrize(
    "changes",
    [pytest.param(fine, id=f"{name}-{n}") for name, (good, _) in TABLE.items() for n, fine in enumerate(good)],
)
def test_good(changes: dict[str, Any]) -> None:
    environment, problems = examine(changed(**changes))
    assert problems == []
    assert environment is not None


@pytest.mark.parametrize(
    ("changes", "path", "word"),
    [pytest.param(*bad, id=f"{name}-{n}") for name, (_, found) in TABLE.items() for n, bad in enumerate(found)],
)
def test_bad(changes: dict[str, Any], path: str, word: str) -> None:
    _, problems = examine(changed(**changes))
    mine = [p for p in problems if p.path == path and word in p.reason]
    assert mine, [str(p) for p in problems]
    assert all(p.remedy and p.reason for p in problems)
