"""Act 5: a colleague is faster than an approval, and another is denied: nothing may be called."""

from __future__ import annotations

from typing import Any

from roundhouse.line.incident import Incident, IncidentState
from simulator.demo.acts.repair import FAULT
from simulator.demo.stage import ALICE, BOB, Stage, approval_id

ACT = "races"
TITLE = "A question that is taken back, and a denied one"
LATE, DENIED = 9, 11  # the nodes

Json = dict[str, Any]


def play(stage: Stage) -> None:
    """Let a colleague be faster than an approval, and let Bob say no to another repair."""
    house, checks = stage.house, stage.checks
    demo, after = house["demo"], stage.newest_message()
    late, denied = _node(stage, LATE), _node(stage, DENIED)
    _fail(stage, late, health_event=False, log_record=True)
    _fail(stage, denied, health_event=True, log_record=False)
    stage.say(f"{late['hostname']} ({late['instance_id']}) fails too: only the health agent's log says so")
    question = stage.question(late["instance_id"], after)
    other = stage.question(denied["instance_id"], after)
    checks.equal(ACT, "the agent's log is a second way in", _sources(stage, late), {"hyperpod.health_agent_log"})
    sequence = house.sequence()

    def called() -> list[str]:
        return [call["operation"] for call in house.calls(since=sequence, of="demo")]

    stage.say("while people are asked, a colleague replaces it by hand")
    house.aws.client("sagemaker").batch_replace_cluster_nodes(ClusterName=demo.cluster, NodeIds=[late["instance_id"]])
    stage.answer(other, "deny", BOB)

    def replaced() -> bool:
        now = _node(stage, LATE)
        return now["status"] == "Running" and now["instance_id"] not in {None, late["instance_id"]}

    house.wait("the colleague's replacement", lambda: replaced() or called(), stage.patience)

    def redrawn() -> bool:
        return not any(approval_id(m) == approval_id(question) for m in house.messages(after=after) if _buttons(m))

    if not redrawn():  # whoever still sees the buttons may click them
        stage.answer(question, "approve", ALICE)
    house.wait("the question to be taken back", lambda: redrawn() or called(), stage.patience)
    stage.say("the question is taken back at once: nobody can approve it any more")

    def over() -> bool:
        ends = [demo.incident_of(node["instance_id"]) for node in (late, denied)]
        return all(incident and incident.state is IncidentState.CLOSED for incident in ends)

    house.wait("both incidents to close", lambda: over() or called(), stage.patience, lambda: _of(stage, late))
    checks.equal(ACT, "nothing was called, for the old instances or the new one", called(), [])
    said = [m["text"] for m in house.messages("Taken back", after)]
    checks.equal(ACT, "the question was taken back, with its reason", bool(said), True)
    checks.equal(ACT, "its incident is superseded", _outcome(stage, late), "superseded")
    checks.equal(ACT, "the denied repair is not done", _outcome(stage, denied), "denied")
    checks.equal(ACT, "its instance still stands there", _node(stage, DENIED)["instance_id"], denied["instance_id"])
    checks.equal(ACT, "64 workers are Running", sum(n["status"] == "Running" for n in demo.workers()), 64)
    names = [node["hostname"].split(".")[0] for node in (late, denied)]
    slurm = house.slurm["demo"].nodes
    house.wait("our drains to be undone", lambda: not any(slurm[name].drained for name in names), stage.patience)
    ends = ("another instance stands in its place", "denied; nothing was done")
    house.wait("both ends in Slack", lambda: all(house.messages(end, after) for end in ends), stage.patience)
    house.aws.control("heal_node", instance_id=denied["instance_id"], event=False)


def _node(stage: Stage, index: int) -> Json:
    return next(n for n in stage.house["demo"].workers() if n["index"] == index)


def _fail(stage: Stage, node: Json, *, health_event: bool, log_record: bool) -> None:
    news = {"health_event": health_event, "log_record": log_record}
    stage.house.aws.control("fail_node", instance_id=node["instance_id"], fault=FAULT, repair_action="None", **news)


def _buttons(message: Json) -> bool:
    return any(block["type"] == "actions" for block in message.get("blocks", []))


def _of(stage: Stage, node: Json) -> Incident | None:
    return stage.house["demo"].incident_of(node["instance_id"])


def _outcome(stage: Stage, node: Json) -> str | None:
    incident = _of(stage, node)
    return str(incident.outcome) if incident else None


def _sources(stage: Stage, node: Json) -> set[str]:
    incident = _of(stage, node)
    return {each.source for each in incident.evidence} if incident else set()
