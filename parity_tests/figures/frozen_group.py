"""A frozen group and `optax.masked`: the path of a layer that should not move."""

from typing import Any, NamedTuple

import numpy as np

from parity_tests.figures.axes import Axes, Scale, curve, dots, frame, key, linear
from parity_tests.figures.canvas import svg
from parity_tests.figures.run import results, tensors


CASE = "param_groups/frozen"
LAYERS = ("l1", "l2")


class Distances(NamedTuple):
    """How far a layer is from its initial parameters before and after each step."""

    torch: tuple[float, ...]
    jax: tuple[float, ...]
    masked: tuple[float, ...]


def record() -> dict[str, Distances]:
    """Train with l1 frozen in torch, by `param_groups`, and by `optax.masked`."""
    sides, start = results(CASE), tensors(CASE)["net"]
    return {
        layer: Distances(
            *(_distances(start[layer], sides[side]["params"], layer) for side in sides)
        )
        for layer in LAYERS
    }


def _distances(start: Any, path: Any, layer: str) -> tuple[float, ...]:
    moved = [
        np.concatenate([np.ravel(np.asarray(net[layer][k]) - start[k].numpy()) for k in start])
        for net in path
    ]
    return (0.0, *(float(np.linalg.norm(step)) for step in moved))


def draw(record: dict[str, Distances]) -> str:
    """Draw the distances of both layers, side by side."""
    entries = (
        ("line", "torch wide", "torch"),
        ("dot", "jax", "param_groups"),
        ("line", "plain dashed", "optax.masked"),
    )
    parts = [key(14, 24, entries)]
    for left, (layer, paths) in zip((46, 262), record.items(), strict=True):
        steps = range(len(paths.torch))
        values = [value for path in paths for value in path]
        y = linear(values, "distance from the start", 3, zero=True)
        axes = Axes(left, 90, 160, 120, Scale(0, steps[-1], "step", steps), y)
        frozen = max(paths.torch) == 0
        parts.append(frame(axes, f"{layer}, frozen" if frozen else f"{layer}, trained"))
        parts.append(curve(axes, steps, paths.torch, "torch wide"))
        parts.append(curve(axes, steps, paths.masked, "plain dashed"))
        parts.append(dots(axes, steps, paths.jax, "jax"))
    return svg("A frozen layer stays where it is, except under optax.masked", parts, 262)
