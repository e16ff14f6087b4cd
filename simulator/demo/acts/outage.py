"""Act 6: twenty nodes in trouble at once. One message, no action; and when health returns, it may."""

from __future__ import annotations

from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState
from simulator.demo.stage import Stage

ACT = "outage"
TITLE = "Twenty nodes down at once"
COUNT = 20
FAULT = "NetworkUnreachable"


def play(stage: Stage) -> None:
    """Break twenty nodes for an hour, then heal them."""
    house, checks = stage.house, stage.checks
    demo = house["demo"]
    slurm = house.slurm["demo"]

    def quiet() -> bool:
        """A new instance may have registered with Slurm a moment ago only: what is told of it is no part of this."""
        ended = all(i.state is IncidentState.CLOSED for i in demo.known())
        return ended and not any(node.down for node in list(slurm.nodes.values()))

    house.wait("the repairs before to be over, in Slurm too", quiet, stage.patience)
    executions, sequence, after = len(demo.executions("remediate_node")), house.sequence(), stage.newest_message()
    began = stage.now()
    commands = len(slurm.commands)
    broken = house.aws.control(
        "fail_nodes", group="workers", cluster=demo.cluster, count=COUNT, fault=FAULT, repair_action="None",
        health_event=False, log_record=False,
    )["nodes"]  # fmt: skip
    ids = {node["instance_id"] for node in broken}
    stage.say(f"Slurm has {COUNT} nodes down within a minute; the policy would reboot each without asking")

    def called() -> list[str]:
        return [call["operation"] for call in house.calls(since=sequence, of="demo")]

    def announced() -> bool:
        return bool(house.messages("Breaker of", after))

    house.wait("the breaker's message", lambda: announced() or called(), stage.patience)
    checks.that(ACT, "the breaker opens before anything is called", announced() and not called(), called())
    stage.say("the breaker is open: one message, no action")

    def told() -> list[Incident]:
        """The incidents of those nodes."""
        mine = [i for i in demo.known() if i.instance_id in ids and i.cause is CauseClass.UNREACHABLE]
        return [i for i in mine if i.opened_at >= began and i.closed_at != i.opened_at]

    house.wait("an incident for every node", lambda: len(told()) >= COUNT, stage.patience, lambda: len(told()))
    stage.pass_time(25)  # longer than the grace of every rule
    checks.equal(ACT, "nothing was drained", len(slurm.commands), commands)
    checks.equal(ACT, "nothing was called", called(), [])
    checks.equal(ACT, "one incident for each node", len(told()), COUNT)
    said = [m["text"].splitlines()[0][:70] for m in house.messages(after=after)]
    checks.that(ACT, "one message", len(said) == 1, said)
    house.aws.control("heal_nodes", cluster=demo.cluster, event=False)
    stage.say("the network is back, and Slurm has the nodes again")

    def recovered() -> bool:
        return all(i.state is IncidentState.CLOSED for i in demo.known() if i.instance_id in ids)

    def still_open() -> object:
        left = [i for i in demo.known() if i.state is not IncidentState.CLOSED]
        return [(i.instance_id, str(i.state), i.decision) for i in left[:3]]

    house.wait("the incidents to close", recovered, stage.patience * 3, still_open)
    checks.equal(ACT, "every incident ends as recovered", {str(i.outcome) for i in told()}, {"recovered"})
    house.wait("the breaker to close", lambda: str(demo.breaker.load(demo.cluster).status) == "closed", stage.patience)
    checks.equal(ACT, "still nothing was called", called(), [])
    still = {n["instance_id"] for n in demo.workers() if n["status"] == "Running"}
    checks.that(ACT, "the very same instances are Running", ids <= still, f"{len(ids & still)} of {COUNT}")
    checks.equal(ACT, "64 workers are Running", len(still), 64)
    opened = [i for i in demo.known() if i.opened_at >= began and i.closed_at != i.opened_at]
    started = len(demo.executions("remediate_node")) - executions
    checks.equal(ACT, "one workflow for each incident", started, len(opened))
