"""Draws the growth of clusters: stacked steps by kind of capacity over virtual time, as SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from simulator.demo.report.data import KINDS, EnvironmentView
from simulator.demo.report.markup import Markup, el, join
from simulator.demo.report.tone import verdict_tone

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 960.0, 44.0, 84.0, 18.0, 30.0
TALL, LOW = 220.0, 90.0  # plot heights: of the largest cluster, and at least
CSS_CLASS = {"reserved": "reserved", "on-demand": "on-demand", "none": "unbilled"}
_STEPS_MIN = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880)


@dataclass(frozen=True, slots=True)
class Plane:
    """Where a moment and a count lie in the drawing."""

    begin: datetime
    end: datetime
    most: int
    height: float

    def x(self, at: datetime) -> float:
        """Horizontal place; moments outside lie on the edge."""
        share = (at - self.begin) / (self.end - self.begin)
        return round(LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, count: float) -> float:
        return round(TOP + (1 - count / self.most) * self.height, 1)


def draw_growth(view: EnvironmentView, begin: datetime, end: datetime, height: float = TALL) -> Markup:
    """One cluster's panel. `begin` < `end` are the ends of its time axis."""
    most = max(view.contract, view.peak, 1)
    plane = Plane(begin, max(end, begin + timedelta(minutes=1)), most, height)
    name = f"growth-{view.name}"
    told = (
        f"{view.cluster} grew to {view.peak} of {view.contract} workers in {len(view.stages)} stages; "
        f"{view.running} run at the end. The table below has every change."
    )
    return el(
        "svg",
        el("title", f"Running workers of {view.cluster} by how they are billed", id=f"{name}-title"),
        el("desc", told, id=f"{name}-desc"),
        _counts_axis(plane),
        _time_axis(plane),
        *(_area(view, plane, level) for level in reversed(range(len(KINDS)))),
        _contract(view, plane),
        *(_mark(plane, stage.number, stage.at, stage.target, stage.verdict) for stage in view.stages),
        viewBox=f"0 0 {WIDTH:g} {TOP + height + BOTTOM:g}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        class_="growth",
    )


def window(view: EnvironmentView) -> tuple[datetime, datetime]:
    """The time that a panel shows: from the start of the creation until a little after the last change."""
    moments = [at for at, _ in view.growth] + [stage.at for stage in view.stages]
    begin = min([*moments, *([view.started_at] if view.started_at else [])])
    end = max([*moments, *([view.finished_at] if view.finished_at else [])])
    return begin, end + max((end - begin) / 12, timedelta(minutes=5))


def panel_height(view: EnvironmentView, views: Sequence[EnvironmentView]) -> float:
    """Height by the cluster's size beside the largest one's, so that eight nodes do not look like sixty-four."""
    largest = max(each.contract for each in views)
    return max(LOW, TALL * view.contract / largest) if largest else LOW


def _area(view: EnvironmentView, plane: Plane, level: int) -> Markup | None:
    """The area of all kinds up to `level`; drawn from the highest down, each covers what is below it."""
    if not any(counts[level] for _, counts in view.growth):
        return None
    points: list[tuple[float, float]] = []
    for (at, counts), until in zip(view.growth, [*(at for at, _ in view.growth[1:]), plane.end], strict=True):
        height = plane.y(sum(counts[: level + 1]))
        points += [(plane.x(at), height), (plane.x(until), height)]
    base = plane.y(0)
    line = " ".join(f"{x:g},{y:g}" for x, y in points)
    kind = CSS_CLASS[KINDS[level]]
    area = f"{points[0][0]:g},{base:g} {line} {points[-1][0]:g},{base:g}"
    return join([el("polygon", points=area, class_=f"area {kind}"), el("polyline", points=line, class_=f"edge {kind}")])


def _contract(view: EnvironmentView, plane: Plane) -> Markup:
    y, right = plane.y(view.contract), WIDTH - RIGHT
    return join(
        [
            el("line", x1=LEFT, x2=right, y1=y, y2=y, class_="contract"),
            el("text", f"contract {view.contract}", x=right + 6, y=y + 4, class_="contract-label"),
        ]
    )


def _mark(plane: Plane, number: int, at: datetime, target: int, verdict: str) -> Markup:
    x, y = plane.x(at), plane.y(target)
    return el(
        "g",
        el("title", f"stage {number}: {target} nodes, discount {verdict or 'not judged'}"),
        el("line", x1=x, x2=x, y1=y, y2=plane.y(0), class_="stage-line"),
        el("circle", cx=x, cy=y, r=9),
        el("text", str(number), x=x, y=y + 4, text_anchor="middle"),
        class_=f"mark {verdict_tone(verdict)}",
    )


def _counts_axis(plane: Plane) -> Markup:
    step = next((2**n for n in range(20) if plane.most / 2**n * 28 <= plane.height), plane.most)
    made = []
    for count in range(0, plane.most + 1, step):
        y = plane.y(count)
        made.append(el("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        made.append(el("text", str(count), x=LEFT - 8, y=y + 4, text_anchor="end"))
    return el("g", made, class_="axis")


def _time_axis(plane: Plane) -> Markup:
    """Ticks at round virtual times since the axis begins, told as hours and minutes."""
    minutes = (plane.end - plane.begin).total_seconds() / 60
    step = next((s for s in _STEPS_MIN if minutes / s <= 10), _STEPS_MIN[-1])
    y = plane.y(0)
    made = []
    for tick in range(0, int(minutes) + 1, step):
        x = plane.x(plane.begin + timedelta(minutes=tick))
        made.append(el("line", x1=x, x2=x, y1=y, y2=y + 5, class_="tick"))
        made.append(el("text", f"{tick // 60}:{tick % 60:02d}", x=x, y=y + 20, text_anchor="middle"))
    made.append(el("text", "h:mm", x=WIDTH - RIGHT + 40, y=y + 20, text_anchor="middle"))
    return el("g", made, class_="axis")
