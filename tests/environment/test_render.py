"""What an environment becomes at run time, and how it is shown."""

from __future__ import annotations

from pathlib import Path

from roundhouse import codec
from roundhouse.build.spec import ClusterSpec, DiscountKind, RehearsalTerms
from roundhouse.build.staging import first_counts, stage_target
from roundhouse.environment import cluster_spec, load, parameters, parse, policy, sections
from roundhouse.environment.catalog import load_catalog
from roundhouse.environment.show import duration, hints
from roundhouse.line.event import CauseClass
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import BreakerLimits, Mode, Policy
from tests.environment.samples import GONE, changed

DEMO = Path(__file__).parents[2] / "environments/demo.toml"


def test_parameters_read_back_as_what_was_rendered() -> None:
    env = parse(changed())
    texts = parameters(env)
    assert codec.from_json(Policy, texts["policy"]) == policy(env)
    assert codec.from_json(ClusterSpec, texts["cluster"]) == cluster_spec(env)
    assert parameters(env) == texts


def test_the_policy_holds_what_the_file_says_and_observes_the_rest() -> None:
    rendered = policy(parse(changed()))
    assert rendered.rule(CauseClass.HARDWARE).mode is Mode.ACT
    assert rendered.rule(CauseClass.NETWORK).mode is Mode.ASK
    assert rendered.rule(CauseClass.UNREACHABLE).mode is Mode.OBSERVE
    assert rendered.budget(Rung.REPLACE).cooldown_s == 5400
    assert rendered.budget(Rung.REBOOT).per_day == 5
    assert rendered.approvers == ("U0123ABCDEF", "U0456GHIJKL")
    assert rendered.capacity_floor == {"workers": 48}


def test_a_file_without_policy_observes_everything_behind_the_default_breaker() -> None:
    rendered = policy(parse(changed(policy=GONE)))
    assert {rendered.rule(cause).mode for cause in CauseClass} == {Mode.OBSERVE}
    assert rendered.breaker == BreakerLimits()


def test_defaults_of_the_model_are_those_of_the_line() -> None:
    # Two places hold defaults: the file's model and the run-time dataclasses. They must not drift apart.
    rendered = policy(parse(changed(policy={"breaker": {}, "rules": {"lifecycle": {}}, "budgets": {"reboot": {}}})))
    plain = Policy(environment="unit", cluster="train-unit")
    assert rendered.breaker == plain.breaker
    assert rendered.rules[CauseClass.LIFECYCLE] == plain.rule(CauseClass.LIFECYCLE)
    assert rendered.budgets[Rung.REBOOT] == plain.budget(Rung.REBOOT)
    for name in ("approval_ttl_s", "drain_deadline_s", "max_event_age_s", "slurm_max_age_s", "repair_timeout_s",
                 "patching_limit_s", "slurm_may_reboot", "proof_quiet_s", "poll_s"):  # fmt: skip
        assert getattr(rendered, name) == getattr(plain, name), name
    env = parse(changed())
    assert cluster_spec(env).waits == type(cluster_spec(env).waits)()


def test_a_creation_asks_for_a_rehearsal_unless_the_file_says_otherwise() -> None:
    assert cluster_spec(parse(changed())).rehearsal == RehearsalTerms(required=True)
    said = {"required": False, "instance_type": "ml.c5.xlarge", "max_age": "7d", "timeout": "30m"}
    env = parse(changed(rehearsal=said))
    assert cluster_spec(env).rehearsal == RehearsalTerms(False, "ml.c5.xlarge", 7 * 86400, 1800)
    place = dict(row for row in sections(env)[0].rows)
    assert place["Rehearsal of it"] == "not required; on one ml.c5.xlarge, for 30m at most"
    assert not RehearsalTerms().required, "parameters from before rehearsals were known ask for none"


def test_the_demo_is_staged_39_52_64_under_its_plan() -> None:
    spec = cluster_spec(load(DEMO))
    workers = spec.group("workers")
    assert first_counts(spec) == {"controller": 1, "workers": 39}
    assert [stage_target(workers, n) for n in range(3)] == [39, 52, 64]
    assert workers.discount.kind is DiscountKind.TRAINING_PLAN
    assert spec.billing == load_catalog().billing


def test_a_price_in_the_file_wins_over_the_catalog() -> None:
    catalog = load_catalog()
    price = catalog.price("us-west-2", "ml.g6.48xlarge")
    assert price is not None
    own = cluster_spec(parse(changed()))
    from_catalog = cluster_spec(parse(changed(**{"groups[1].on_demand_usd_per_hour": GONE})))
    assert own.group("workers").on_demand_usd_per_hour == 16.0
    assert from_catalog.group("workers").on_demand_usd_per_hour == price.on_demand_usd_per_hour


def test_an_unverified_price_is_said_to_be_so() -> None:
    assert not any("unverified" in hint for hint in hints(parse(changed())))
    told = hints(parse(changed(**{"groups[1].on_demand_usd_per_hour": GONE})))
    assert any("ml.g6.48xlarge" in hint and "unverified" in hint for hint in told)


def test_everything_that_is_verified_in_the_catalog_has_a_source() -> None:
    assert all(price.source for price in load_catalog().prices.values())


def test_show_tells_stages_prices_and_every_cause() -> None:
    tables = {table.title: table for table in sections(parse(changed()))}
    workers = next(row for row in tables["Groups"].rows if row[0] == "workers")
    assert "39 → 52 → 64" in workers
    assert "8.00" in workers
    assert [row[0] for row in tables["Policy"].rows] == [cause.value for cause in CauseClass]
    assert all(len(row) == len(table.headings) for table in tables.values() for row in table.rows)
    assert [duration(s) for s in (5400, 90, 86400, 0)] == ["1h30m", "1m30s", "1d", "0s"]
