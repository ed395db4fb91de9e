"""Plots: axes with titles and ticks, curves, dots and bars."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from parity_tests.figures.canvas import Point, box, circle, line, number, text


class Scale(NamedTuple):
    """The range of an axis, its title with the unit, and its ticks."""

    low: float
    high: float
    title: str
    ticks: Sequence[float]
    log: bool = False

    def share(self, value: float) -> float:
        """Return where a value is between the ends of the axis, from 0 to 1."""
        low, high, at = ((math.log(v) if self.log else v) for v in (self.low, self.high, value))
        return (at - low) / (high - low)


class Axes(NamedTuple):
    """A plot: its top left corner, its size, and its two scales."""

    left: float
    top: float
    width: float
    height: float
    x: Scale
    y: Scale

    def at(self, x: float, y: float) -> Point:
        """Return the point of the figure that shows a point of the plot."""
        return Point(
            self.left + self.width * self.x.share(x),
            self.top + self.height * (1 - self.y.share(y)),
        )


def linear(values: Sequence[float], title: str, count: int = 4, *, zero: bool = False) -> Scale:
    """Return a linear scale with round ticks that holds all values."""
    low, high = min(values), max(values)
    low = min(low, 0.0) if zero else low
    raw = ((high - low) or 1.0) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [k * step for k in range(first, max(last, first + 1) + 1)]
    return Scale(ticks[0], ticks[-1], title, ticks)


def logarithmic(values: Sequence[float], title: str, every: int = 1) -> Scale:
    """Return a logarithmic scale whose ticks are powers of ten."""
    first = math.floor(math.log10(min(values)) + 1e-9)
    last = max(math.ceil(math.log10(max(values)) - 1e-9), first + 1)
    ticks = [10.0**k for k in range(first, last + 1, every)]
    return Scale(10.0**first, 10.0**last, title, ticks, log=True)


def frame(axes: Axes, title: str = "") -> str:
    """Draw the axes: the y title stands above the axis, the x title below it."""
    right, bottom = axes.left + axes.width, axes.top + axes.height
    parts = [line([Point(axes.left, bottom), Point(right, bottom)], "faint")]
    for tick in axes.y.ticks:
        y = axes.at(axes.x.low, tick).y
        parts.append(line([Point(axes.left, y), Point(right, y)], "faint thin dotted"))
        parts.append(text(axes.left - 6, y + 4, number(tick), "end faint"))
    for tick in axes.x.ticks:
        x = axes.at(tick, axes.y.low).x
        parts.append(line([Point(x, bottom), Point(x, bottom + 4)], "faint"))
        parts.append(text(x, bottom + 18, number(tick), "middle faint"))
    parts.append(text(axes.left + axes.width / 2, bottom + 35, axes.x.title, "middle faint"))
    above = axes.top - 14
    parts.append(text(axes.left - 30, above, axes.y.title, "faint"))
    if title:
        parts.append(text(axes.left - 30, above - 18, title, "bold"))
    return "".join(parts)


def curve(axes: Axes, xs: Sequence[float], ys: Sequence[float], classes: str) -> str:
    return line([axes.at(x, y) for x, y in zip(xs, ys, strict=True)], classes)


def dots(
    axes: Axes, xs: Sequence[float], ys: Sequence[float], classes: str, radius: float = 2.6
) -> str:
    return "".join(circle(axes.at(x, y), radius, classes) for x, y in zip(xs, ys, strict=True))


def bar(axes: Axes, left: float, right: float, value: float, classes: str) -> str:
    """Draw a bar from the bottom of the plot, between two places of the x axis."""
    corner, foot = axes.at(left, value), axes.at(right, axes.y.low)
    return box(corner.x, corner.y, foot.x - corner.x, foot.y - corner.y, classes, radius=1)


def key(x: float, y: float, entries: Sequence[tuple[str, str, str]], gap: float = 20) -> str:
    """Draw a legend in a row: each entry is a sign (`line`, `dot` or `box`), classes and a name."""
    parts = []
    for sign, classes, name in entries:
        if sign == "line":
            parts.append(line([Point(x, y - 4), Point(x + 22, y - 4)], classes))
        elif sign == "dot":
            parts.append(circle(Point(x + 11, y - 4), 3.2, classes))
        else:
            parts.append(box(x + 4, y - 10, 14, 12, classes, radius=2))
        parts.append(text(x + 28, y, name))
        x += 28 + 7.1 * len(name) + gap
    return "".join(parts)
