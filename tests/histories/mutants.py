"""What is broken on purpose in a copy of the product, and the rule that the histories must see broken. Pure data."""

from __future__ import annotations

from dataclasses import dataclass

from tests.histories.mutilate import Change, Instead, Text

ACT = "roundhouse/steps/repair/act.py"
CORDON = "roundhouse/steps/repair/cordon.py"
DECIDE = "roundhouse/line/decision/decide.py"
GUARDS = "roundhouse/line/decision/guards.py"
LADDER = "roundhouse/line/ladder.py"
LEDGER = "tests/fakes/records.py"
LOOKS = "roundhouse/line/decision/looks"
PROVE = "roundhouse/steps/repair/prove.py"
RESTORE = "roundhouse/steps/repair/restore.py"
WATCH = "roundhouse/steps/repair/watch.py"

ANY_NODE = "node = cluster.by_logical(incident.logical_id or ''); return node, (node.instance_id or '') if node else ''"
STANDS_THERE = (
    "there = facts.cluster.by_logical(incident.logical_id or ''); "
    "decision = replace(decision, instance_id=there.instance_id) if there and there.instance_id else decision"
)


@dataclass(frozen=True)
class Mutant:
    """`must`: the rules, with | between them, of which one is seen broken within `within` histories."""

    name: str
    changes: tuple[Change, ...]
    must: str
    within: int = 1500


def mutant(name: str, must: str, *changes: Change, within: int = 1500) -> Mutant:
    return Mutant(name, changes, must, within)


NO_LEDGER = (
    Instead(LEDGER, "FakeLedger.get", "return None"),
    Instead(LEDGER, "FakeLedger.put", "return entry"),
    Instead(LEDGER, "FakeLedger.of_cluster", "return []"),
)
# HyperPod's own word of a call stands behind the ledger: a fault of the ledger alone does no harm
UNTOLD = (Instead(ACT, "_told_of_lost", "return None"), Instead(ACT, "_tells_of", "return False"))
NOT_READ_AGAIN = Instead(DECIDE, "recheck", "return replace(decision, verdict=Verdict.ACT)")

MUTANTS = (
    # those that the demo's sabotages break, too
    mutant("ledger off", "twice|ledger|open|in hand|budget", *NO_LEDGER),
    mutant(
        "name for the id",
        "wrong instance|live state|in hand|drain",
        Instead("roundhouse/line/decision/facts.py", "_find", ANY_NODE),
        Text(DECIDE, "    if start.instance != decision.instance_id:\n", "    if False:\n"),
        Instead(ACT, "Actor._call", STANDS_THERE),
    ),
    mutant("live state is not read again", "live state|in hand|patching|policy|pause|budget|breaker", NOT_READ_AGAIN),
    mutant(
        "breaker ignored",
        "breaker",
        Instead("roundhouse/line/breaker.py", "admit", "return Admission(True, ''), _remember(state, entry)"),
    ),
    mutant("breaker counts nothing", "breaker", Instead("roundhouse/line/breaker.py", "_remember", "return state")),
    mutant(
        "answer is not read again",
        "approval",
        Instead(ACT, "Actor._approved", "return True"),
        Text(
            "roundhouse/steps/people/ask.py", '        "status": approval.choice,\n', '        "status": "approve",\n'
        ),
    ),
    mutant(
        "anybody may approve",
        "approval",
        Text("roundhouse/line/approval.py", "    if click.user not in approval.approvers:\n", "    if False:\n"),
    ),
    mutant("discount of a new instance is not judged", "discount", Instead(PROVE, "Prover._discount", "return None")),
    # of the call
    mutant("pause ignored", "pause", Instead(GUARDS, "paused", "return None")),
    mutant(
        "patching ignored",
        "patching",
        Instead(f"{LOOKS}/cluster.py", "patching", "return None"),
        Instead(f"{LOOKS}/cluster.py", "busy_cluster", "return None"),
    ),
    mutant("in hand ignored", "in hand", Instead(f"{LOOKS}/others.py", "in_hand", "return None")),
    mutant(
        "grace skipped",
        "grace",
        Instead(f"{LOOKS}/hyperpod.py", "grace", "return None"),
        Text("roundhouse/steps/begin.py", "grace = 1 if at_once else policy.rule(incident.cause).grace_s", "grace = 1"),
    ),
    mutant("observe ignored", "policy", Instead(GUARDS, "observe_only", "return None")),
    mutant("protected nodes ignored", "policy", Instead(GUARDS, "protected", "return None")),
    mutant("a log on the node suffices", "approval", Instead(GUARDS, "evidence", "return None")),
    mutant("a drain of others is passed over", "approval", Instead(GUARDS, "foreign_drain", "return None")),
    mutant("controllers are nodes like others", "wrong instance", Instead(f"{LOOKS}/role.py", "role", "return None")),
    mutant("good news ignored", "live state", Instead(f"{LOOKS}/news.py", "recovered", "return None")),
    mutant("jobs get no deadline", "drain", Instead(GUARDS, "running_job", "return None")),
    mutant(
        "stale snapshot taken for fresh",
        "drain|approval",
        Text("roundhouse/steps/look.py", "timedelta(seconds=policy.slurm_max_age_s)", "timedelta(days=9)"),
    ),
    mutant(
        "budget ignored",
        "budget",
        Instead(DECIDE, "_spent", "return None"),
        Text(LADDER, ">= budget.per_day", ">= 10**6"),
    ),
    mutant("cooldown ignored", "budget", Instead(LADDER, "_cooldown", "return 0")),
    # of what became of the call
    mutant(
        "a lost answer is repeated at once",
        "twice|in hand|ledger|open",
        Instead("roundhouse/line/action.py", "judge_lost", "return Effect.MAY_REPEAT, 'again'"),
        *UNTOLD,
    ),
    mutant(
        "every attempt is a new one",
        "twice|in hand|circle|ledger",
        Instead("roundhouse/line/action.py", "attempt_number", "return len(entries) + 1"),
        *UNTOLD,
    ),
    mutant(
        "proof skipped",
        "lost",
        Instead(PROVE, "QuietTest.run", "return proof.Proof.PASS, 'believed'"),
        Instead(PROVE, "Prover._news", "return None"),
    ),
    mutant("bad news do not fail a proof", "lost", Instead(PROVE, "Prover._news", "return None")),
    mutant(
        "news from after a repair are dealt with already",
        "lost",
        Instead("roundhouse/line/incident/intake.py", "_repaired_at", "return None"),
    ),
    mutant(
        "count is not restored",
        "count|open",
        Text(WATCH, 'return {"status": "restore",', 'return {"status": "decide",'),
    ),
    mutant(
        "count is restored whoever did it before",
        "count",
        Text(
            RESTORE,
            "whole = cluster.groups[group.name].target >= group.count",
            "whole = False",
        ),
    ),
    mutant("drain is not taken back", "drain", Instead(CORDON, "resume", "return result")),
    mutant(
        "one list that omits a node is believed",
        "lost",
        Text(f"{LOOKS}/others.py", "if heir is None and not twice and not _ended(view):", "if False:"),
    ),
    mutant(
        "a question once asked is never closed",
        "open",
        Text(
            "roundhouse/steps/people/ask.py",
            "        if approval.status is not ApprovalStatus.PENDING:\n            return approval\n"
            "        return replace(\n            approval, status=ApprovalStatus.EXPIRED",
            "        return approval\n        return replace(\n            approval, status=ApprovalStatus.EXPIRED",
        ),
        Instead("roundhouse/steps/reconcile/mend.py", "Mender._expire", "return True"),
        Instead("roundhouse/steps/reconcile/mend.py", "Mender._withdraw", "return True"),
    ),
    mutant("nobody is told of the end", "untold", Instead("roundhouse/steps/repair/close.py", "_told", "return []")),
    mutant(
        "replay trusted",
        "replay",
        Text(
            "roundhouse/line/incident/intake.py",
            "    if event.source is Source.REPLAY:\n        node =",
            "    if False:\n        node =",
        ),
    ),
)
