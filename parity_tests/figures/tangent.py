"""A derivative as the slope of a tangent."""

from typing import NamedTuple

import jax
import numpy as np

from parity_tests.figures.axes import Axes, Scale, curve, dots, frame, linear
from parity_tests.figures.canvas import Point, both, number, svg, text
from parity_tests.figures.run import arrays, tensors


CASE = "backward/cubic"


class Record(NamedTuple):
    """The point, the derivative there in both frameworks, and torch's curve around it."""

    x: float
    value: float
    torch: float
    jax: float
    curve: tuple[Point, ...]


def record() -> Record:
    """Differentiate x³ - 4x + 2 at the input of the case, and compute it around that input."""
    x = tensors(CASE)["x"].requires_grad_()

    def cubic(x):
        return x**3 - 4 * x + 2

    value = cubic(x)
    value.backward()
    around = np.linspace(0, 2 * x.item() - 2, 41).tolist()
    points = tuple(Point(at, cubic(tensors(CASE)["x"] * 0 + at).item()) for at in around)
    grad = jax.grad(cubic)(arrays(CASE)["x"])
    return Record(x.item(), value.item(), x.grad.item(), float(grad), points)


def draw(record: Record) -> str:
    """Draw the curve, the point and the tangent whose slope is the derivative."""
    left, right = record.curve[0].x, record.curve[-1].x
    xs, ys = [p.x for p in record.curve], [p.y for p in record.curve]
    axes = Axes(56, 60, 366, 190, Scale(left, right, "x", range(5)), linear(ys, "x³ − 4x + 2", 4))
    ends = [record.x - 1.1, record.x + 0.9]
    tangent = [record.value + record.torch * (x - record.x) for x in ends]
    place = axes.at(record.x, record.value)
    parts = [
        text(
            14,
            24,
            f"The slope at x = {number(record.x)} is {both(record.torch, record.jax)}",
            "bold",
        ),
        frame(axes),
        curve(axes, xs, ys, "plain"),
        curve(axes, ends, tangent, "torch wide"),
        dots(axes, [record.x], [record.value], "jax", radius=5),
        text(place.x - 14, place.y - 4, f"value {number(record.value)}", "end"),
    ]
    return svg("A derivative is the slope of a tangent", parts, 300)
