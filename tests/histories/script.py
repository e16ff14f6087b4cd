"""A history as data: the house it plays in, and what happens when. Pure; the same seed writes the same script."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode

LADDERS = (
    (Rung.REBOOT, Rung.REPLACE, Rung.HUMAN),
    (Rung.REBOOT, Rung.REPLACE, Rung.DELETE_RESTORE, Rung.HUMAN),
    (Rung.REPLACE, Rung.HUMAN),
    (Rung.DELETE_RESTORE, Rung.HUMAN),
    (Rung.REBOOT, Rung.HUMAN),
)

# What begins a history (a node breaks, or is said to be), and what may happen to it meanwhile; with weights.
TROUBLE = {
    "break_soft": 8, "break_hard": 8, "break_in_log": 3, "break_for_slurm": 3, "false_alarm": 3, "storm": 1,
}  # fmt: skip
MEANWHILE = {
    "again": 6, "well": 5, "old_message": 6, "replay": 3, "late_bad_news": 3,
    "colleague_reboots": 4, "colleague_replaces": 6, "colleague_deletes": 3, "colleague_adds": 6,
    "colleague_drains": 10, "colleague_undrains": 3, "recovery_on": 3, "recovery_off": 3, "auto_resume": 3,
    "patching": 4, "throttled": 5, "lost_answer": 6, "unreadable": 4, "events_unreadable": 3, "stale_list": 4,
    "empty_list": 2, "store_fails": 5, "dies": 12, "twin": 8, "pause": 4, "observe": 2, "ask": 2, "short_ladder": 2,
    "protect": 2, "other_approvers": 2, "no_budget": 2, "slack_away": 4, "click": 6, "shortage": 3, "forged": 3,
    "break_soft": 3, "break_hard": 3, "job": 4, "breaker_trips": 2,
    "omitted": 10, "no_reservation": 2, "controller_breaks": 2, "agent_silent": 3, "settle_message": 2,
}  # fmt: skip
# Only with a reconciler on its schedule: what no event and no running execution would ever mend.
RECONCILED = {"stop": 6, "losing": 3}


@dataclass(frozen=True, slots=True)
class Op:
    """Something that happens `at_s` seconds after the beginning; with `calls` only when so many further calls on ports
    have been made, in the middle of whatever step is running then. `node` is a worker's place, `number` is free."""

    at_s: int
    kind: str
    node: int = 0
    number: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Script:
    """The house of a history and its ops, in order."""

    seed: int
    size: int = 8
    mode: Mode = Mode.ACT
    ladder: tuple[Rung, ...] = LADDERS[0]
    automatic: bool = False  # NodeRecovery
    agent: bool = False  # is there a controller agent that drains and reports?
    tick_ms: int = 0  # time that passes with each call on a port
    tight: bool = False  # a breaker and budgets that are soon used up
    messages: str = "mixed"  # prompt | mixed | late
    answers: str = "approve"  # approve | deny | silence | late | wrong | both
    reconciled: bool = False
    ops: tuple[Op, ...] = ()

    def with_ops(self, ops: tuple[Op, ...]) -> Script:
        return replace(self, ops=ops)


def write(random: Random, seed: int = 0, reconciled: bool = False) -> Script:
    """A script by chance. `random` may be hypothesis's own: then a failing history is shrunk by it."""
    size = random.choice((5, 8, 8, 12))
    kinds = {**MEANWHILE, **(RECONCILED if reconciled else {})}
    ops = [_op(random, TROUBLE, size, 300, 0.0) for _ in range(random.choice((1, 1, 1, 2, 2, 3)))]
    ops += [_op(random, kinds, size, random.choice((700, 3000)), 0.3) for _ in range(random.randint(0, 7))]
    return Script(
        seed=seed,
        size=size,
        mode=random.choice((Mode.ACT, Mode.ACT, Mode.ACT, Mode.ASK, Mode.ASK, Mode.OBSERVE)),
        ladder=random.choice(LADDERS),
        automatic=random.random() < 0.4,
        agent=random.random() < 0.45,
        tick_ms=random.choice((0, 0, 40, 400)),
        tight=random.random() < 0.25,
        messages=random.choice(("prompt", "mixed", "mixed", "late")),
        answers=random.choice(("approve", "approve", "approve", "deny", "silence", "late", "wrong", "both")),
        reconciled=reconciled,
        ops=tuple(sorted(ops, key=lambda op: op.at_s)),
    )


def _op(random: Random, kinds: dict[str, int], size: int, until_s: int, inside: float) -> Op:
    [kind] = random.choices(tuple(kinds), tuple(kinds.values()))
    deep = kind in {"dies", "twin"} or random.random() < inside
    # trouble gathers at few nodes, so that it meets
    node = random.choice((0, 0, 0, 1, 2, random.randrange(size)))
    return Op(random.randrange(until_s), kind, node, random.randrange(1000), random.randint(1, 40) if deep else 0)
