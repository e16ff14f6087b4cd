"""The head of the page: the verdict, what is not true, the acts, and the key numbers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from roundhouse.steps.words import duration
from simulator.demo.report.data import ActView, EnvironmentView, ReportData
from simulator.demo.report.markup import Child, Markup, el
from simulator.demo.report.tone import BAD, CALM, GOOD, WARN, status_tone, verdict_tone


def draw_head(data: ReportData) -> Markup:
    """Title, verdict, the acts, and the failed checks where nobody can miss them."""
    verdict, tone, mark = _verdict(data)
    lead = (
        f"Played on an embedded AWS, {data.began_at:%d %B %Y}: {duration(data.ended_at - data.began_at)} of the "
        f"cluster's time in {duration(data.real)}. Accounts, prices and faults are made up; the workflows, "
        "permissions and rules are the ones that a deployment gets."
    )
    return el(
        "header",
        el("p", "Roundhouse demo", class_="eyebrow"),
        el("h1", el("span", mark, class_="verdict-mark", aria_hidden="true"), verdict, class_=f"verdict {tone}"),
        el("p", lead, class_="lead"),
        el("ol", *(_act(act) for act in data.acts), class_="acts", aria_label="acts") if data.acts else None,
        _failures(data),
    )


def _verdict(data: ReportData) -> tuple[str, str, str]:
    if not data.checks:
        return "Nothing was checked", BAD, "✗"
    if data.failed:
        few = len(data.failed)
        return f"{few} of {data.checks} checks {'is' if few == 1 else 'are'} not true", BAD, "✗"
    return f"All {data.checks} checks are true", GOOD, "✓"


def _act(act: ActView) -> Markup:
    true = sum(check.ok for check in act.checks)
    return el(
        "li",
        el("a", act.title, href=f"#act-{act.name}"),
        el("span", f" {true} of {len(act.checks)}", class_="quiet-count" if act.ok else "bad-text"),
    )


def _failures(data: ReportData) -> Markup | None:
    if not data.failed:
        return None
    lines = (
        el("li", el("b", f"{check.act}: {check.must}"), el("span", check.seen or "nothing was seen", class_="seen"))
        for check in data.failed
    )
    return el("ul", *lines, class_="failures", aria_label="checks that are not true")


def draw_numbers(data: ReportData) -> Markup:
    """Key numbers: of each environment, then of the whole play."""
    return el(
        "section",
        el("h2", "At a glance"),
        *(
            el(
                "div",
                el("h3", view.cluster, el("small", f" environment {view.name}")),
                el("dl", *_environment(view), class_="tiles three"),
                class_="glance",
            )
            for view in data.environments
        ),
        el("div", el("h3", "The whole play"), el("dl", *_whole(data), class_="tiles four"), class_="glance"),
    )


def _environment(view: EnvironmentView) -> Iterator[Markup]:
    took = (
        f", {duration(view.finished_at - view.started_at)} after its start"
        if view.started_at and view.finished_at
        else ""
    )
    yield _tile(
        "Workers Running",
        [str(view.running), el("small", f" of {view.contract}")],
        f"creation {view.status.replace('_', ' ')}{took}",
        GOOD if view.running == view.contract else status_tone(view.status),
    )
    judged = [stage for stage in view.stages if stage.verdict]
    lost = next((stage for stage in judged if stage.verdict != "VERIFIED"), None)
    verdict = f"{lost.verdict}, caught at stage {lost.number}" if lost else f"{len(judged)} of {len(judged)} verified"
    yield _tile(
        "Discount",
        verdict if judged else "not judged",
        lost.reason if lost else ", ".join(f"{stage.target} nodes {stage.verdict}" for stage in judged),
        verdict_tone(lost.verdict) if lost else GOOD if judged else WARN,
    )
    over = view.excess_usd >= 0.005
    yield _tile(
        "USD an hour",
        [f"{view.actual:,.2f}", el("small", f" of {view.expected:,.2f} expected")],
        f"{view.excess_usd:,.2f} USD paid above the discount; the cap is {view.cap_usd:,.0f} USD",
        BAD if view.excess_usd > view.cap_usd else WARN if over else GOOD,
    )


def _whole(data: ReportData) -> Iterator[Markup]:
    operations = Counter(call.operation for call in data.calls)
    yield _tile(
        "Calls that change something",
        str(len(data.calls)),
        ", ".join(f"{count} {name}" for name, count in operations.most_common()) or "none",
    )
    outcomes = Counter[str]()
    for incident in data.incidents:
        outcomes[incident.outcome or "open"] += incident.count
    yield _tile(
        "Incidents",
        str(sum(outcomes.values())),
        ", ".join(f"{count} {name}" for name, count in outcomes.most_common()) or "none",
    )
    slowest = data.slowest_answer_s
    yield _tile(
        "Messages in Slack",
        str(data.messages),
        f"slowest answer to a click: {slowest:.2f} s of 3 s" if slowest is not None else "nobody clicked",
        CALM if slowest is None or slowest <= 3 else BAD,
    )
    virtual = duration(data.ended_at - data.began_at)
    yield _tile("Time in the cluster", virtual, f"{duration(data.real)} on the wall clock")


def _tile(label: str, value: Child, note: str, tone: str = CALM) -> Markup:
    notes = el("dd", note, class_="note") if note else None
    return el("div", el("dt", label), el("dd", value, class_="value"), notes, class_=f"tile {tone}")
