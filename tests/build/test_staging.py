"""Steps come from live counts; nothing is added twice, and never more than the contract."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.build.records import Run, StageRecord
from roundhouse.build.spec import ClusterSpec
from roundhouse.build.staging import StepKind, additions, client_token, first_counts, next_step, stage_target, stages
from roundhouse.line.state import Cluster, Node, NodeStatus
from tests.build.samples import (
    ARN,
    BY_ACCOUNT,
    CONTROLLER,
    CPU,
    NO_DISCOUNT,
    T0,
    cluster,
    group,
    minutes,
    nodes,
    passed,
    run,
    spec,
)


@pytest.mark.parametrize(
    ("count", "share", "target"),
    [
        (64, 0.6, 39),
        (65, 0.6, 39),
        (10, 0.6, 6),
        (1, 0.6, 1),
        (100, 0.07, 7),
        (64, 1.0, 64),
        (3, 0.01, 1),
        (25, 0.28, 7),
    ],
)
def test_stage_target_is_the_ceiling_of_the_share_as_people_compute_it(count: int, share: float, target: int) -> None:
    assert stage_target(group(count=count, stages=(share, 1.0)), 0) == target


def test_the_first_call_holds_controller_login_and_first_stages() -> None:
    login = group("login", 2, (1.0,), NO_DISCOUNT, "Login", CPU)
    cpu = group("cpu", 10, (0.5, 1.0), NO_DISCOUNT, instance_type=CPU)
    assert first_counts(spec(login, cpu, group())) == {"controller": 1, "login": 2, "cpu": 5, "workers": 39}


def test_discounted_groups_come_first_within_a_stage() -> None:
    cpu = group("cpu", 10, (0.5, 1.0), NO_DISCOUNT, instance_type=CPU)
    order = [(g.name, stage) for g, stage, _ in stages(spec(cpu, group()))]
    assert order == [("workers", 0), ("controller", 0), ("cpu", 0), ("workers", 1), ("cpu", 1), ("workers", 2)]


WAITED = StageRecord("workers", 0, 39, T0)
FIRST = passed("workers", 0, 39)
SECOND = passed("workers", 1, 52)
THIRD = passed("workers", 2, 64)


@pytest.mark.parametrize(
    ("live", "known", "kind", "stage", "amount"),
    [
        pytest.param(None, run(), StepKind.CREATE, None, 0, id="nothing there"),
        pytest.param(None, None, StepKind.CREATE, None, 0, id="nothing there, nothing known"),
        pytest.param(({"workers": 0}, {"workers": 39}, "Creating"), run(), StepKind.WAIT_CONTROLLER, None, 0, id="new"),
        pytest.param(({"controller": 0}, {"workers": 39}), run(), StepKind.WAIT_CONTROLLER, None, 0, id="lost head"),
        pytest.param(({"workers": 12}, {"workers": 39}), run(WAITED), StepKind.WAIT_STAGE, 0, 0, id="filling"),
        pytest.param(({"workers": 39},), run(WAITED), StepKind.VERIFY, 0, 0, id="full, unverified"),
        pytest.param(({"workers": 39},), None, StepKind.VERIFY, 0, 0, id="full, run record lost"),
        pytest.param(({"workers": 39},), run(FIRST), StepKind.ADD, 1, 13, id="second stage"),
        pytest.param(
            ({"workers": 30}, {"workers": 39}), run(FIRST), StepKind.ADD, 1, 13, id="minus target, not Running"
        ),
        pytest.param(({"workers": 39}, {"workers": 45}), run(FIRST), StepKind.ADD, 1, 7, id="resumed within a stage"),
        pytest.param(({"workers": 39}, {"workers": 52}), run(FIRST), StepKind.WAIT_STAGE, 1, 0, id="added already"),
        pytest.param(({"workers": 52},), run(FIRST, SECOND), StepKind.ADD, 2, 12, id="last stage"),
        pytest.param(({"workers": 64},), run(FIRST, SECOND), StepKind.VERIFY, 2, 0, id="last stage unverified"),
        pytest.param(({"workers": 64},), run(FIRST, SECOND, THIRD), StepKind.DONE, None, 0, id="complete"),
        pytest.param(
            ({"workers": 64},), run(THIRD), StepKind.DONE, None, 0, id="a later stage vouches for earlier ones"
        ),
        pytest.param(({"workers": 63}, {"workers": 64}), run(THIRD), StepKind.DONE, None, 0, id="one broke afterwards"),
        pytest.param(({"workers": 60},), run(THIRD), StepKind.ADD, 2, 4, id="somebody deleted four"),
        pytest.param(({"workers": 38},), run(WAITED), StepKind.ADD, 0, 1, id="first stage was cancelled in part"),
        pytest.param(({"workers": 64},), run(passed("workers", 2, 64, "LOST")), StepKind.VERIFY, 0, 0, id="lost"),
        pytest.param(
            ({"workers": 64},), run(passed("workers", 2, 64, "ACCEPTED")), StepKind.DONE, None, 0, id="accepted"
        ),
        pytest.param(
            ({"workers": 64},),
            run(passed("workers", 2, 64, "LOST"), accepted_loss=True),
            StepKind.DONE,
            None,
            0,
            id="run accepted",
        ),
        pytest.param(({"workers": 39}, None, "Failed"), run(), StepKind.REFUSE, None, 0, id="failed"),
        pytest.param(({"workers": 39}, None, "Deleting"), run(), StepKind.REFUSE, None, 0, id="deleting"),
        pytest.param(({"workers": 65},), run(), StepKind.REFUSE, None, 0, id="above the contract"),
        pytest.param(None, run(status="held"), StepKind.REFUSE, None, 0, id="held by people"),
        pytest.param(None, run(status="rolled_back"), StepKind.REFUSE, None, 0, id="rolled back"),
    ],
)
def test_next_step(
    live: tuple[dict[str, int], dict[str, int] | None, str] | None,
    known: Run | None,
    kind: StepKind,
    stage: int | None,
    amount: int,
) -> None:
    step = next_step(spec(), cluster(spec(), *live) if live else None, known)
    assert (step.kind, step.stage, step.amount) == (kind, stage, amount), step.reason
    assert step.reason


def test_nodes_that_a_repair_will_add_again_are_not_missing() -> None:
    live = cluster(spec(), {"workers": 51})
    assert next_step(spec(), live, run(FIRST, SECOND), {"workers": 1}).kind is StepKind.ADD
    step = next_step(spec(), live, run(FIRST, SECOND), {"workers": 1})
    assert (step.stage, step.amount) == (2, 12)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"groups": (CONTROLLER, group(), group("extra"))}, "extra is not in the cluster"),
        ({"groups": (CONTROLLER,)}, "workers is not in the environment"),
        ({"groups": (CONTROLLER, group(instance_type="ml.p5.48xlarge"))}, "is of ml.g6.48xlarge"),
        ({"groups": (CONTROLLER, group(discount=NO_DISCOUNT))}, "training plan"),
        ({"provisioning_mode": "legacy"}, "the environment says legacy"),
    ],
)
def test_a_cluster_that_is_not_what_the_environment_says_is_left_alone(change: dict[str, object], word: str) -> None:
    step = next_step(replace(spec(), **change), cluster(spec(), {"workers": 39}), run())  # type: ignore[arg-type]
    assert step.kind is StepKind.REFUSE
    assert word in step.reason


def test_a_group_without_discount_needs_no_verdict() -> None:
    plain = spec(group(discount=NO_DISCOUNT))
    assert next_step(plain, cluster(plain, {"workers": 39}), run()).kind is StepKind.ADD
    assert next_step(plain, cluster(plain, {"workers": 64}), run()).kind is StepKind.DONE


def test_tokens_are_deterministic_and_differ_where_replay_would_be_wrong() -> None:
    token = client_token(ARN, "workers", 39, 52)
    assert token == client_token(ARN, "workers", 39, 52)
    others = {
        client_token(ARN[:-1] + "7", "workers", 39, 52),
        client_token(ARN, "cpu", 39, 52),
        client_token(ARN, "workers", 45, 52),
        client_token(ARN, "workers", 39, 64),
        client_token(ARN, "workers", 39, 52, cancellations=1),
    }
    assert len(others | {token}) == 6
    assert all(len(each) <= 64 and each.isascii() and each.isprintable() for each in others)


@given(st.integers(0, 500), st.integers(1, 500), st.integers(0, 9))
def test_calls_add_up_and_a_run_resumed_between_two_comes_to_the_same_tokens(live: int, amount: int, done: int) -> None:
    target = live + amount
    calls = additions(ARN, "w", live_target=live, target=target, amount=amount)
    assert sum(call.amount for call in calls) == amount
    assert all(1 <= call.amount <= 50 for call in calls)
    made = sum(call.amount for call in calls[:done])
    rest = additions(ARN, "w", live_target=live + made, target=target, amount=amount - made)
    assert rest == calls[done:]


class HyperPod:
    """A BatchAdd that honours tokens, with a stale view of its counts when told so."""

    def __init__(self, of: ClusterSpec, counts: dict[str, int]) -> None:
        self.of = of
        self.targets = dict(counts)
        self.former = dict(counts)
        self.tokens: set[str] = set()

    def add(self, name: str, amount: int, token: str) -> None:
        if token not in self.tokens:
            self.tokens.add(token)
            self.former = dict(self.targets)
            self.targets[name] += amount

    def read(self, running: int, *, stale: bool) -> Cluster:
        targets = self.former if stale else self.targets
        return cluster(self.of, {"workers": min(running, targets["workers"])}, targets)


Moves = st.lists(
    st.tuples(
        st.integers(0, 200),  # nodes Running as seen
        st.booleans(),  # counts from before the last call
        st.integers(0, 4),  # calls made before the execution stops
        st.booleans(),  # the run record is lost
    ),
    max_size=30,
)


@given(
    st.integers(1, 160),
    st.lists(st.floats(0.01, 0.99), max_size=4).map(lambda s: (*sorted(set(s)), 1.0)),
    st.sampled_from([NO_DISCOUNT, BY_ACCOUNT]),
    Moves,
)
def test_whatever_is_retried_stopped_or_read_late_the_contract_is_never_exceeded(
    count: int, shares: tuple[float, ...], discount: object, moves: list[tuple[int, bool, int, bool]]
) -> None:
    of = spec(group(count=count, stages=shares, discount=discount))  # type: ignore[arg-type]
    aws = HyperPod(of, first_counts(of))
    known = run()
    for running, stale, calls, lost in moves:
        step = next_step(of, aws.read(running, stale=stale), None if lost else known)
        assert step.kind not in {StepKind.CREATE, StepKind.REFUSE}
        if step.kind is StepKind.VERIFY:
            assert step.stage is not None
            known = replace(known, stages=(*known.stages, passed("workers", step.stage, step.target)))
        for call in step.additions[:calls]:
            aws.add("workers", call.amount, call.token)
        assert aws.targets["workers"] <= count


@given(st.integers(1, 300), st.lists(st.floats(0.01, 0.99), max_size=4).map(lambda s: (*sorted(set(s)), 1.0)))
def test_a_creation_that_nothing_disturbs_ends_with_the_contract(count: int, shares: tuple[float, ...]) -> None:
    of = spec(group(count=count, stages=shares, discount=BY_ACCOUNT))
    aws = HyperPod(of, first_counts(of))
    known = run()
    for _ in range(3 * len(shares) + 1):
        step = next_step(of, aws.read(count, stale=False), known)
        if step.kind is StepKind.DONE:
            break
        if step.kind is StepKind.VERIFY:
            assert step.stage is not None
            known = replace(known, stages=(*known.stages, passed("workers", step.stage, step.target)))
        for call in step.additions:
            aws.add("workers", call.amount, call.token)
    assert step.kind is StepKind.DONE
    assert aws.targets["workers"] == count


def test_a_vanished_node_is_not_ordered_again() -> None:
    # A retrying node is not listed between attempts: Running and listed counts say 38, the target says 39.
    listed: list[Node] = [*nodes("controller", 1), *nodes("workers", 38)]
    live = cluster(spec(), {"workers": 38}, {"workers": 39}, listed=listed)
    assert next_step(spec(), live, run(WAITED)).kind is StepKind.WAIT_STAGE


def test_only_status_running_counts() -> None:
    listed = [
        *nodes("controller", 1),
        *nodes("workers", 38),
        Node("i-x", "l-x", "workers", NodeStatus.SYSTEM_UPDATING, launched_at=minutes(1)),
    ]
    live = cluster(spec(), {"workers": 39}, listed=listed)
    assert next_step(spec(), live, run(WAITED)).kind is StepKind.WAIT_STAGE
