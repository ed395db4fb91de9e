"""Fit the panels of both frameworks to the page: side by side, stacked, or with less detail."""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxgrad.graph._fold import Diagram, fold, named
from jaxgrad.graph._keys import Key
from jaxgrad.graph._lanes import Assigned
from jaxgrad.graph._layout import LANE_GAP, Layout, arrange
from jaxgrad.graph._model import Graph
from jaxgrad.graph._runs import assign_all, depths_for
from jaxgrad.graph._states import View


SIDE_GAP = 32.0
ROOM = 1408.0  # width for lanes, by default
TITLE = 350.0  # the width of a panel's title
# Limits on the boxes and badges of a lane; the first pair whose picture fits is used.
ALL = (14, 3)
LESS = ((12, 3), (8, 3), (6, 3), (4, 3), (4, 1), (2, 1), (1, 1))
MANY = 3  # rows: such a picture rather has less detail than one panel below the other
WIDER = 7  # box limit of a lane that gets the remaining width


class Panel(NamedTuple):
    """The diagram, layout and settings of one framework."""

    framework: str
    version: str
    diagram: Diagram
    layout: Layout
    views: Mapping[str, View]  # keyed by setting
    compared: bool = False  # with another setting

    @property
    def width(self) -> float:
        return max(self.layout.width, TITLE)


class Panels(NamedTuple):
    panels: list[Panel]
    stacked: bool  # one above the other instead of side by side


def fit(
    sides: Sequence[Mapping[str, Graph]],
    *,
    rearranging: bool = False,
    room: float = ROOM,
    beside: Sequence[Graph] = (),
    compared: bool = False,
) -> Panels:
    """Return panels that fit the page, reducing the detail until they do.

    The lanes with the most operations then get more boxes, if there is width left.

    Args:
        sides: The graphs of each framework, keyed by setting.
        rearranging: Whether operations that only change a layout or dtype get their own boxes.
        room: The width for lanes.
        beside: Graphs of the other framework that are drawn elsewhere.
        compared: Whether a setting is compared with another one.
    """
    assigned = [
        assign_all(
            list(graphs.values()),
            [*beside, *(g for other in sides if other is not graphs for g in other.values())],
        )
        for graphs in sides
    ]
    depths = depths_for(assigned)
    fitted = functools.partial(_fitted, sides, assigned, rearranging, room, compared)
    return next(filter(None, map(fitted, depths)), None) or fitted(depths[0], anyway=True)


def _fitted(
    sides: Sequence[Mapping[str, Graph]],
    assigned: Sequence[Sequence[Assigned]],
    rearranging: bool,
    room: float,
    compared: bool,
    depth: int,
    *,
    anyway: bool = False,
) -> Any:
    """Return the panels for `depth`, or None if they do not fit and `anyway` is False."""

    def draw(level: tuple[int, int], wide: frozenset[str] = frozenset()) -> list[Panel]:
        boxes, badges = level
        diagrams = [
            fold(
                each,
                depth,
                lambda lane: WIDER if lane in wide else boxes,
                badges,
                rearranging=rearranging,
            )
            for each in assigned
        ]
        return [
            _panel(graphs, diagram, compared)
            for graphs, diagram in zip(sides, diagrams, strict=True)
        ]

    def beside_fits(panels: Sequence[Panel]) -> bool:
        widths = [panel.width if len(panels) > 1 else panel.layout.width for panel in panels]
        return sum(widths) + SIDE_GAP * (len(panels) - 1) <= room

    panels = draw(ALL)
    if beside_fits(panels):
        return Panels(_named(panels, beside_fits), stacked=False)
    many = max(map(len, sides)) >= MANY
    for level in LESS if many and len(panels) > 1 else ():
        panels = draw(level)
        if beside_fits(panels):
            return Panels(_named(panels, beside_fits), stacked=False)
    for level in LESS[-2:] if many else LESS:
        panels = _aligned(draw(level))
        if _fits(panels, room):
            break
    else:
        return Panels(panels, stacked=len(panels) > 1) if anyway else None
    wide: frozenset[str] = frozenset()
    for lane in _fullest(panels) if level[0] < WIDER and not many else ():
        more = _aligned(draw(level, wide | {lane}))
        if _fits(more, room):
            panels, wide = more, wide | {lane}

    def aligned_fits(panels: Sequence[Panel]) -> bool:
        return _fits(_aligned(list(panels)), room)

    panels = _named(panels, aligned_fits)
    return Panels(_aligned(panels), stacked=len(panels) > 1)


def _panel(graphs: Mapping[str, Graph], diagram: Diagram, compared: bool) -> Panel:
    first = next(iter(graphs.values()))
    views = dict(zip(graphs, diagram.views, strict=True))
    return Panel(
        first.framework,
        first.version.partition("+")[0],  # without the build, as in 2.13.0+cpu
        diagram,
        arrange(diagram, compared=compared),
        views,
        compared,
    )


def _named(panels: list[Panel], fits: Callable[[Sequence[Panel]], bool]) -> list[Panel]:
    """Let boxes of several operations name the main ones, as long as the panels still fit.

    If not all names fit, those that need the least width are shown.
    """
    boxes = [
        (n, key, len(box.main) - len(box.text))
        for n, panel in enumerate(panels)
        for key, box in panel.diagram.boxes.items()
        if box.main
    ]
    everything = _with_names(panels, [(n, key) for n, key, _ in boxes])
    if fits(everything):
        return everything
    shown: list[tuple[int, Key]] = []
    for n, key, _ in sorted(boxes, key=lambda each: each[2]):
        more = _with_names(panels, [*shown, (n, key)])
        shown += [(n, key)] if fits(more) else []
    return _with_names(panels, shown)


def _with_names(panels: Sequence[Panel], shown: Sequence[tuple[int, Key]]) -> list[Panel]:
    """Return the panels with names in these boxes, each given by its panel and its key."""
    diagrams = [
        named(panel.diagram, {key for place, key in shown if place == n})
        for n, panel in enumerate(panels)
    ]
    return [
        panel._replace(diagram=diagram, layout=arrange(diagram, compared=panel.compared))
        for panel, diagram in zip(panels, diagrams, strict=True)
    ]


def _fits(panels: Sequence[Panel], room: float) -> bool:
    return max(panel.layout.width for panel in panels) <= room


def _fullest(panels: Sequence[Panel]) -> list[str]:
    """Return the lanes with more operations than `ALL` allows boxes, fullest first."""
    size: collections.Counter[str] = collections.Counter()
    for panel in panels:
        for box in panel.diagram.boxes.values():
            size[panel.diagram.lanes[box.lane]] += len(box.members)
    return [lane for lane, count in size.most_common() if count > ALL[0]]


def _aligned(panels: list[Panel]) -> list[Panel]:
    """Align the lanes of stacked panels, if all panels have them in the same order."""
    order = max((panel.diagram.lanes for panel in panels), key=len)
    for panel in panels:
        if [lane for lane in order if lane in panel.diagram.lanes] != list(panel.diagram.lanes):
            return panels
    widths = dict.fromkeys(order, 0.0)
    for panel in panels:
        for lane, rect in zip(panel.diagram.lanes, panel.layout.lanes, strict=True):
            widths[lane] = max(widths[lane], rect.w)
    starts = itertools.accumulate((w + LANE_GAP for w in widths.values()), initial=0.0)
    places = {lane: (x, widths[lane]) for lane, x in zip(order, starts, strict=False)}
    return [
        panel._replace(layout=arrange(panel.diagram, places, compared=panel.compared))
        for panel in panels
    ]
