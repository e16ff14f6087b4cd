"""What is broken on purpose, and the check that must be the first to notice. Pure data."""

from __future__ import annotations

from tests.simulator_demo.sabotage import Code, Pattern, Permission, Sabotage

LEDGER = "roundhouse/aws/stores.py"
ACT = "roundhouse/steps/repair/act.py"
DECIDE = "roundhouse/line/decision/decide.py"
NOT_READ_AGAIN = Code(
    ACT, "        again = recheck(decision, facts)\n", "        again = replace(decision, verdict=Verdict.ACT)\n"
)

NOT_TAKEN_BACK = Code(
    "roundhouse/steps/people/withdraw.py",
    "        return outdate(approval, now, why, said_at)\n",
    "        return approval\n",
)
UNTOLD = Code(  # HyperPod's own word of a call stands behind the ledger
    ACT,
    "        if (told := _told_of_lost(decision, incident, facts)) is not None:\n",
    "        if (told := None) is not None:\n",
)
NOT_IN_HAND = Code(  # HyperPod's own word of its repair
    "roundhouse/line/decision/looks/others.py",
    "    if announced and view.cluster.node_recovery == AUTOMATIC:\n",
    "    if False:\n",
)
NO_LEDGER = (
    Code(LEDGER, "        return self._records.get(action_id)\n", "        return None\n"),
    Code(LEDGER, "        return self._records.put(entry.action_id, entry)\n", "        return entry\n"),
    Code(LEDGER, '        return self._records.of_cluster(cluster, "claimed_at", since)\n', "        return []\n"),
)

OF_CODE = (
    # HyperPod's own word keeps it from calling twice, and leads to the proof; but nobody can say what was done
    Sabotage("ledger_off", NO_LEDGER, acts="repair", act="repair", must="the ledger says CONFIRMED"),
    Sabotage(
        "ledger_off_and_live_state_not_read_again",
        (*NO_LEDGER, NOT_READ_AGAIN, UNTOLD),
        acts="repair",
        act="repair",
        must="one call to HyperPod, though its answer was lost",
    ),
    Sabotage(
        "node_name_for_the_id",
        (
            NOT_TAKEN_BACK,
            NOT_IN_HAND,
            Code(
                "roundhouse/line/decision/facts.py",
                "        return cluster.by_instance(target), target\n",
                '        node = cluster.by_logical(incident.logical_id or "")\n'
                '        return node, (node.instance_id or "") if node else ""\n',
            ),
            Code(DECIDE, "    if start.instance != decision.instance_id:\n", "    if False:\n"),
            Code(
                ACT,
                "        return self._call(claimed, incident, decision, facts, now)\n",
                "        there = facts.cluster.by_logical(incident.logical_id).instance_id\n"
                "        decision = replace(decision, instance_id=there)\n"
                "        return self._call(claimed, incident, decision, facts, now)\n",
            ),
        ),
        acts="races",
        act="races",
        must="nothing was called, for the old instances or the new one",
    ),
    Sabotage(
        "live_state_not_read_again",
        (NOT_TAKEN_BACK, NOT_READ_AGAIN),
        acts="races",
        act="races",
        must="nothing was called, for the old instances or the new one",
    ),
    Sabotage(
        "questions_not_taken_back",
        (NOT_TAKEN_BACK,),
        acts="races",
        act="races",
        must="the question was taken back, with its reason",
    ),
    Sabotage(
        "breaker_ignored",
        (
            Code(
                "roundhouse/line/breaker.py",
                "    match state.status:\n",
                '    if True:\n        return Admission(True, ""), _remember(state, entry)\n    match state.status:\n',
            ),
        ),
        acts="outage",
        act="outage",
        must="nothing was drained",  # what comes before every call
    ),
    Sabotage(
        "anybody_may_approve",
        (Code("roundhouse/line/approval.py", "    if click.user not in approval.approvers:\n", "    if False:\n"),),
        acts="repair",
        act="repair",
        must="who approved is on record",
        seen="U0GUESTEVE",
    ),
    Sabotage(
        "answer_not_read_again",
        (
            Code(
                "roundhouse/steps/people/ask.py",
                '        "status": approval.choice,\n',
                '        "status": "approve",\n',
            ),
            Code(
                ACT,
                "        if decision.verdict is Verdict.ASK and not self._approved(incident, decision, decided):\n",
                "        if False:\n",
            ),
        ),
        acts="races",
        act="races",
        must="nothing was called, for the old instances or the new one",
    ),
    Sabotage(
        "discount_believed",
        (
            Code(
                "roundhouse/build/discount.py",
                "        name = self.group.name\n",
                '        name = self.group.name\n        return self._say(Verdict.VERIFIED, "believed")\n',
            ),
        ),
        acts="wrong_az",
        act="wrong_az",
        must="no stage was added",
        environment="demo-wrong-az",
    ),
)

OF_TEMPLATES = (
    Sabotage(
        "rule_for_node_health",
        (Pattern("rulenodehealth", "detail-type", "SageMaker HyperPod Cluster Node Health"),),
        acts="repair",
        act="repair",
        must="the act gets to its end",
        seen="a question about",
    ),
    Sabotage(
        "rule_for_slurm",
        (Pattern("ruleslurm", "source", "roundhouse.slurmctld"),),
        acts="outage",
        act="outage",
        must="the act gets to its end",
        seen="the breaker's message",
    ),
    Sabotage(
        "rule_that_subscribes_to_the_log",
        (Pattern("ruleinservice", "source", "aws.hyperpod"),),
        acts="races",
        act="races",
        must="the act gets to its end",
        seen="a question about",
    ),
    Sabotage(
        "permission_to_replace",
        (Permission("actonnodeRole", "sagemaker:BatchReplaceClusterNodes"),),
        acts="repair",
        act="repair",
        must="one call to HyperPod, though its answer was lost",
        seen="[], not",
    ),
    Sabotage(
        "permission_to_claim",
        (Permission("actonnodeRole", "dynamodb:PutItem", on="FnGetAttledger"),),
        acts="repair",
        act="repair",
        must="one call to HyperPod, though its answer was lost",
        seen="[], not",
    ),
    Sabotage(
        "permission_to_pass_answers_on",
        (Permission("settleapprovalRole", "states:SendTaskSuccess"),),
        acts="repair",
        act="repair",
        must="the answer is passed on, not waited out",
    ),
)
