"""Clipping as geometry: a ball that keeps the direction, and a square that does not."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.figures.axes import Axes, Scale, key
from parity_tests.figures.canvas import Point, arrow, both, box, circle, line, number, svg, text


# Gradients of two parameters: three are longer than the bound, and two are shorter.
GRADIENTS = ((1.9, 0.6), (-1.2, 1.5), (0.5, -1.7), (-0.5, -0.6), (0.55, 0.35))
BOUND = 1.0


class Record(NamedTuple):
    """The gradients after clipping by norm and by value, in torch and in JAX."""

    by_norm: tuple[tuple[Point, Point], ...]
    by_value: tuple[tuple[Point, Point], ...]


def record() -> Record:
    """Clip each gradient in both frameworks."""
    norm = [
        (
            _in_torch(torch.nn.utils.clip_grad_norm_, grad),
            Point(*jaxgrad.clip_grad_norm(jnp.array(grad), BOUND)[0].tolist()),
        )
        for grad in GRADIENTS
    ]
    value = [
        (
            _in_torch(torch.nn.utils.clip_grad_value_, grad),
            Point(*jaxgrad.clip_grad_value(jnp.array(grad), BOUND).tolist()),
        )
        for grad in GRADIENTS
    ]
    return Record(tuple(norm), tuple(value))


def _in_torch(clip: Callable[..., Any], grad: tuple[float, float]) -> Point:
    parameter = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    parameter.grad = torch.tensor(grad, dtype=torch.float64)
    clip([parameter], BOUND)
    assert parameter.grad is not None
    return Point(*parameter.grad.tolist())


def draw(record: Record) -> str:
    """Draw every gradient before and after, on the left with the ball, on the right the square."""
    parts: list[str] = []
    plots = (
        (14, "clip_grad_norm", record.by_norm),
        (238, "clip_grad_value", record.by_value),
    )
    for left, title, clipped in plots:
        axes = _axes(left)
        zero, one = axes.at(0, 0), axes.at(BOUND, BOUND)
        radius = one.x - zero.x
        parts.append(text(left, 24, title, "bold"))
        for end in (Point(2, 0), Point(0, 2)):
            ends = [axes.at(-end.x, -end.y), axes.at(*end)]
            parts.append(line(ends, "faint thin dotted"))
        parts.append(text(left + 180, axes.at(0, 0).y - 6, "w1", "end faint"))
        parts.append(text(axes.at(0, 0).x + 5, 48, "w2", "faint"))
        if clipped is record.by_norm:
            parts.append(circle(zero, radius, "kept"))
        else:
            parts.append(box(zero.x - radius, one.y, 2 * radius, 2 * radius, "kept", radius=0))
        for before, (torch_point, jax_point) in zip(GRADIENTS, clipped, strict=True):
            start, end = axes.at(*before), axes.at(*torch_point)
            moved = abs(start.x - end.x) + abs(start.y - end.y) > 0.5
            if moved:
                parts.append(line([zero, start], "faint thin dotted"))
                parts.append(circle(start, 3, "faint hollow"))
                parts.append(line([start, end], "faint dashed"))
            parts.append(arrow(zero, end, "torch"))
            parts.append(circle(axes.at(*jax_point), 6, "jax hollow"))
    before, (torch_point, jax_point) = GRADIENTS[0], record.by_norm[0]
    norms = both(*(round((p.x**2 + p.y**2) ** 0.5, 4) for p in (torch_point, jax_point)))
    length = number((before[0] ** 2 + before[1] ** 2) ** 0.5)
    parts.append(text(14, 242, f"norm {length} → {norms}: the direction stays", "faint"))
    parts.append(
        text(
            14,
            262,
            f"by value, each element stops at {number(BOUND)}: the direction turns",
            "faint",
        )
    )
    parts.append(
        key(
            14,
            286,
            (
                ("dot", "faint hollow", "before"),
                ("line", "torch", "torch"),
                ("dot", "jax hollow", "JAX"),
            ),
        )
    )
    return svg("Clipping by norm pulls a gradient into a ball, by value into a square", parts, 302)


def _axes(left: float) -> Axes:
    scale = Scale(-2, 2, "", ())
    return Axes(left, 38, 180, 180, scale, scale)
