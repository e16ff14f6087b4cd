"""The head of the page: the verdict, what is not true, and the key numbers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from roundhouse.steps.words import duration
from simulator.demo.report.data import EnvironmentView, ReportData
from simulator.demo.report.markup import Child, Markup, el, join
from simulator.demo.report.tone import BAD, CALM, GOOD, WARN, status_tone, verdict_tone


def draw_head(data: ReportData) -> Markup:
    """Title, verdict, and the failed checks where nobody can miss them."""
    failed = data.failed
    acts = f"{len(data.acts)} acts" if len(data.acts) != 1 else "one act"
    if not data.checks:
        verdict, tone, mark = "Nothing was checked", BAD, "✗"
    elif failed:
        verdict, tone, mark = (
            f"{len(failed)} of {data.checks} checks {'is' if len(failed) == 1 else 'are'} not true",
            BAD,
            "✗",
        )
    else:
        verdict, tone, mark = f"All {data.checks} checks are true", GOOD, "✓"
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
        el(
            "ul",
            *(
                el("li", el("b", f"{c.act}: {c.must}"), el("span", c.seen or "nothing was seen", class_="seen"))
                for c in failed
            ),
            class_="failures",
            aria_label="checks that are not true",
        )
        if failed
        else None,
        el("p", acts, ": ", ", ".join(act.title for act in data.acts), class_="acts") if data.acts else None,
    )


def draw_numbers(data: ReportData) -> Markup:
    """The tiles."""
    return el("section", el("h2", "At a glance"), el("dl", *_tiles(data), class_="tiles"))


def _tiles(data: ReportData) -> Iterator[Markup]:
    for view in data.environments:
        yield from _environment(view)
    operations = Counter(call.operation for call in data.calls)
    yield _tile(
        "Calls that change something",
        str(len(data.calls)),
        ", ".join(f"{count} × {name}" for name, count in operations.most_common()) or "none",
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
        f"slowest answer to a click {slowest:.2f} s; Slack's limit is 3 s" if slowest is not None else "nobody clicked",
        CALM if slowest is None or slowest <= 3 else BAD,
    )
    yield _tile("Virtual time", duration(data.ended_at - data.began_at), f"{duration(data.real)} on the wall clock")


def _environment(view: EnvironmentView) -> Iterator[Markup]:
    whole = view.running == view.contract
    ended = view.status.replace("_", " ")
    yield _tile(
        f"{view.cluster}: workers Running",
        [str(view.running), el("small", f" of {view.contract}")],
        f"creation: {ended}" + (f", in {duration(view.finished_at - view.started_at)}" if _both(view) else ""),
        GOOD if whole else status_tone(view.status),
    )
    judged = [stage for stage in view.stages if stage.verdict]
    verified = sum(stage.verdict == "VERIFIED" for stage in judged)
    lost = next((stage for stage in judged if stage.verdict != "VERIFIED"), None)
    yield _tile(
        f"{view.cluster}: discount",
        f"{verified} of {len(judged)} verified" if lost is None else f"{lost.verdict} at stage {lost.number}",
        ", ".join(f"{stage.target}: {stage.verdict}" for stage in judged) or "no stage was judged",
        verdict_tone(lost.verdict) if lost else GOOD if judged else WARN,
    )
    yield _tile(
        f"{view.cluster}: USD an hour",
        [f"{view.actual:,.2f}", el("small", f" of {view.expected:,.2f} expected")],
        f"{view.excess_usd:,.2f} USD paid above the discount; cap {view.cap_usd:,.0f} USD",
        WARN if view.excess_usd >= 0.005 else GOOD,
    )


def _both(view: EnvironmentView) -> bool:
    return bool(view.started_at and view.finished_at)


def _tile(label: str, value: Child, note: str, tone: str = CALM) -> Markup:
    return el(
        "div",
        el("dt", label),
        el("dd", join([value]), class_="value"),
        el("dd", note, class_="note"),
        class_=f"tile {tone}",
    )
