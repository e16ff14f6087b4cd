"""The report: what is gathered of a house, and that the page shows it, whatever the texts hold."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.environment import load
from roundhouse.environment.render import cluster_spec
from roundhouse.line.incident import Outcome, Step
from simulator.demo.house import House
from simulator.demo.report import ReportData, draw, report_data, write
from simulator.demo.report.calls import call_views
from simulator.demo.report.gather import act_titles, excess, incident_views, live
from simulator.demo.report.growth import Plane, draw_growth, window
from simulator.demo.report.markup import Markup, el, join
from simulator.demo.report.talk import as_text, episodes, threads
from tests.simulator_demo import samples
from tests.simulator_demo.samples import at

NASTY = "<script>alert('x')</script>&\"</style><img src=//evil>"


@cache
def data(*, good: bool = True) -> ReportData:
    return report_data(cast(House, samples.house()), samples.checks(good=good))


class Page(HTMLParser):
    """Tags with their attributes, and all text outside the style sheet."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._style = self._style and tag != "style"

    def handle_data(self, data: str) -> None:
        self.text += "" if self._style else data


def with_texts(value: Any, text: str) -> Any:
    """The same data with every text of it followed by `text`, but for the kind of a Slack line, which is ours."""
    if isinstance(value, str):
        return value + text
    if is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in fields(value) if each.name != "kind"]
        return replace(value, **{name: with_texts(getattr(value, name), text) for name in names})
    return tuple(with_texts(each, text) for each in value) if isinstance(value, tuple) else value


# Markup -----------------------------------------------------------------------------------------------------------
@given(st.text())
def test_text_and_attributes_come_back_as_they_were(text: str) -> None:
    made = el("p", text, title=text)
    assert unescape(made.partition(">")[2].removesuffix("</p>")) == text or "\r" in text or "\x00" in text
    assert "<" not in made.removeprefix("<p").removesuffix("</p>").partition(">")[2]


def test_only_elements_are_markup() -> None:
    assert el("b", "<i>", el("i", "&")) == "<b>&lt;i&gt;<i>&amp;</i></b>"
    assert join(["a", None, ["<", 3, 0.5]]) == "a&lt;30.5"
    assert not isinstance(el("b", "x").lower(), Markup), "text made of markup is text again"


def test_attributes_may_be_left_out_or_bare() -> None:
    assert el("details", open=True, id=None, hidden=False, class_="a", data_x='"') == (
        '<details open class="a" data-x="&quot;"></details>'
    )


# The page ---------------------------------------------------------------------------------------------------------
def test_no_text_becomes_markup() -> None:
    clean, dirty = Page(draw(data(good=False))), Page(draw(with_texts(data(good=False), NASTY)))
    assert [tag for tag, _ in dirty.tags] == [tag for tag, _ in clean.tags]
    assert dirty.text.count(NASTY) > 100


def test_needs_nothing_from_outside() -> None:
    text = draw(data())
    found = Page(text)
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in found.tags)
    assert all((attrs.get("href") or "#").startswith("#") for _, attrs in found.tags)
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text


def test_links_lead_somewhere() -> None:
    tags = Page(draw(data())).tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {attrs["href"] for _, attrs in tags if "href" in attrs} == {f"#act-{act.name}" for act in data().acts}
    named = " ".join(attrs["aria-labelledby"] or "" for _, attrs in tags if "aria-labelledby" in attrs)
    assert set(named.split()) <= set(ids)


def test_verdict_when_all_is_true() -> None:
    text = Page(draw(data())).text
    assert "All 3 checks are true" in text
    assert "not true" not in text


def test_verdict_when_something_is_not() -> None:
    text = Page(draw(data(good=False))).text
    assert "1 of 3 checks is not true" in text
    assert text.index("repair: one call to HyperPod") < text.index("At a glance")


def test_no_checks_are_no_success() -> None:
    assert "Nothing was checked" in Page(draw(replace(data(), acts=()))).text


def test_shows_what_matters() -> None:
    text = Page(draw(data())).text
    for told in (
        "64 of 64", "3 of 3 verified", "LOST, caught at stage 1", "512.46", "43.00 too much", "1 repaired",
        "20 recovered", "20 nodes: EfaHealthCheckFailed", "no call, one message", "launch_stage", "roll_back",
        "slowest answer to a click: 1.25 s", "6 h 40 min", "contract 64", "now i-0fedcba9876543210",
    ):  # fmt: skip
        assert told in text, told


def test_an_empty_house_makes_a_page() -> None:
    empty = ReportData(at(0), at(0), timedelta(), (), (), (), (), 0, None, (), ())
    text = Page(draw(empty)).text
    assert "There were none." in text
    assert "Nothing was said." in text


def test_written_as_one_file(tmp_path: Path) -> None:
    write(cast(House, samples.house()), samples.checks(), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")


# The chart --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [0, 1])
def test_the_chart_is_well_formed_and_named(number: int) -> None:
    view = data().environments[number]
    root = ElementTree.fromstring(draw_growth(view, *window(view)))
    assert root.find("title") is not None
    assert f"{view.peak} of {view.contract} workers" in (root.findtext("desc") or "")
    assert len(root.findall("g[@class='mark good']")) == (3, 0)[number]
    assert len(root.findall("g[@class='mark bad']")) == (0, 1)[number]


def test_kinds_of_capacity_are_stacked() -> None:
    view = data().environments[0]
    root = ElementTree.fromstring(draw_growth(view, *window(view)))
    shapes = [shape.attrib["class"] for shape in root.findall("polygon")]
    assert shapes == ["area unbilled", "area reserved"], "the highest first, on-demand not at all"
    plane = Plane(*window(view), 64, 220.0)
    ys = {float(point.split(",")[1]) for point in root.findall("polygon")[0].attrib["points"].split()}
    assert plane.y(64) in ys
    assert plane.y(63) not in ys


@given(st.integers(-500, 900), st.integers(0, 64))
def test_everything_lies_inside_the_drawing(minutes: int, count: int) -> None:
    plane = Plane(at(0), at(400), 64, 220.0)
    assert plane.x(at(0)) <= plane.x(at(minutes)) <= plane.x(at(400))
    assert plane.y(64) <= plane.y(count) <= plane.y(0)


# What is gathered -------------------------------------------------------------------------------------------------
def test_stages_with_the_money_of_their_moment() -> None:
    first, *_, last = data().environments[0].stages
    assert (first.number, first.target, first.verdict) == (1, 39, "VERIFIED")
    assert first.actual == pytest.approx(39 * 8 + 0.46)
    assert (last.expected, last.actual) == (pytest.approx(512.46), pytest.approx(512.46))


def test_a_rolled_back_stage_is_known_from_what_was_told() -> None:
    view = data().environments[1]
    (stage,) = view.stages
    assert (stage.target, stage.verdict, stage.reason) == (5, "LOST", "5 took on-demand")
    assert stage.actual - stage.expected == pytest.approx(5 * 8.6)
    assert view.excess_usd == pytest.approx(5 * 8.6 * 15 / 60)
    assert (view.running, view.actual) == (0, 0)


def test_charges_run_from_start_to_end() -> None:
    charges = [samples.charge("c", "workers", 2.0, 10, 20), samples.charge("c", "workers", 3.0, 15)]
    found = [[c["rate"] for c in live(charges, at(minute))] for minute in (9, 10, 19, 20)]
    assert found == [[], [2.0], [2.0, 3.0], [3.0]]


def test_no_excess_for_what_is_cheaper_or_unknown() -> None:
    spec = cluster_spec(load(samples.ENVIRONMENTS / "demo.toml"))
    charges = [samples.charge("c", "workers", 1.0, 0), samples.charge("c", "elsewhere", 99.0, 0)]
    assert excess(spec, charges, at(60)) == 0
    assert excess(spec, [samples.charge("c", "workers", 16.6, 30)], at(60)) == pytest.approx(4.3)
    assert excess(spec, [samples.charge("c", "workers", 16.6, 90)], at(60)) == 0


def test_many_alike_are_one_row() -> None:
    (view,) = incident_views(samples.outage(20))
    assert (view.count, view.opened_at, view.closed_at) == (20, at(300), at(364))
    assert [(step.name, step.count) for step in view.steps] == [("grace", 20), ("held", 10)]
    assert (view.steps[0].started_at, view.steps[0].ended_at) == (at(300), at(329))


def test_two_alike_stay_two_and_one_still_open_is_open() -> None:
    assert [view.count for view in incident_views(samples.outage(2))] == [1, 1]
    first, *others = samples.outage(3)
    running = replace(first, closed_at=None, steps=(Step("grace", at(300)),))
    (view,) = incident_views([running, *others])
    assert view.closed_at is None
    assert view.steps[0].ended_at is None


def test_ends_of_different_kinds_stay_apart() -> None:
    sick = [replace(each, outcome=Outcome.ESCALATED) for each in samples.outage(4)[:1]]
    assert sorted(view.count for view in incident_views([*samples.outage(4)[1:], *sick])) == [1, 3]


def test_the_longer_environment_name_wins() -> None:
    calls = [samples.call("X", "demo-wrong-az", "stop-ramp", 1), samples.call("X", "demo", "act-on-node", 2)]
    found = call_views(calls, ("demo", "demo-wrong-az"))
    assert [(view.environment, view.by) for view in found] == [("demo-wrong-az", "stop_ramp"), ("demo", "act_on_node")]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"result": {}}, ("accepted", True)),
        ({"result": {}, "answer_lost": True}, ("done, but the answer was lost", True)),
        ({"error": {"code": "ThrottlingException", "message": "m"}}, ("ThrottlingException", False)),
        ({"result": {"Failed": [{"ErrorCode": "A"}, {"ErrorCode": "A"}]}}, ("2 refused: A", False)),
    ],
)
def test_results_in_words(more: dict[str, Any], told: tuple[str, bool]) -> None:
    (view,) = call_views([samples.call("X", "demo", "act-on-node", 1, **more)], ("demo",))
    assert (view.result, view.ok) == told


@pytest.mark.parametrize(
    ("params", "about"),
    [
        (
            {"InstanceGroups": [{"InstanceCount": 39, "InstanceGroupName": "w", "TrainingPlanArn": "arn"}]},
            "39 w; training plan on 1 group",
        ),
        ({"NodesToAdd": [{"IncrementTargetCountBy": 13, "InstanceGroupName": "w"}]}, "+13 w"),
        ({"NodeIds": ["i-1", "i-2"], "ClusterName": "c"}, "i-1, i-2"),
        ({"NodeIds": ["i"] * 9}, "9 nodes"),
        ({"ClusterName": "c"}, "c"),
    ],
)
def test_what_a_call_is_about(params: dict[str, Any], about: str) -> None:
    (view,) = call_views([samples.call("X", "demo", "act-on-node", 1, params=params)], ("demo",))
    assert view.about == about


def test_a_click_stands_in_its_thread() -> None:
    house = samples.house()
    found = threads(house.slack.said, house.slack.clicks, house.aws.clock)
    asked = next(thread for thread in found if thread[0].text.startswith("Replace"))
    assert [(line.kind, line.who) for line in asked] == [
        ("message", "Roundhouse"),
        ("click", "U0GUESTEVE"),
        ("private", "Roundhouse to U0GUESTEVE alone"),
        ("click", "U0OPSALICE"),
    ]
    assert abs(asked[1].at - at(142)) < timedelta(seconds=1), "told in the cluster's time"


@pytest.mark.parametrize(
    ("mrkdwn", "text"),
    [
        ("<https://a.example|the log> of <@U0OPSALICE>", "the log of @U0OPSALICE"),
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("<!here>", "!here"),
    ],
)
def test_slacks_text_as_people_read_it(mrkdwn: str, text: str) -> None:
    assert as_text(mrkdwn) == text


def test_an_episode_counts_what_was_done_meanwhile() -> None:
    (view,) = data().episodes
    assert (view.opened_at, view.closed_at, view.nodes) == (at(304), at(350), 20)
    assert (view.calls, view.messages, view.reason) == (0, 1, "20 nodes")


def test_an_episode_that_goes_on_counts_calls() -> None:
    house = samples.house()
    late = samples.call("BatchReplaceClusterNodes", "demo", "act-on-node", 310, params={"ClusterName": "train-demo"})
    said = [m for m in house.slack.said if "closed" not in m["text"]]
    (view,) = episodes(said, samples.outage(), call_views([late], ("demo",)), house.aws.clock, at(400))
    assert (view.closed_at, view.calls) == (None, 1)


def test_every_act_has_a_title() -> None:
    titles = act_titles()
    assert {"create", "wrong_az", "repair", "races", "outage", "always"} <= set(titles)
    assert all(titles.values())


def test_times_are_the_clocks() -> None:
    made = data()
    assert made.began_at == at(0)
    assert made.real == timedelta(minutes=400) / samples.SCALE
    assert isinstance(made.ended_at, datetime)
