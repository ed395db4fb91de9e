"""Losses of torch, of the exact optimizer, and of the optax choice of the same name."""

from typing import NamedTuple

from parity_tests.figures.axes import Axes, Scale, curve, dots, frame, key, linear
from parity_tests.figures.canvas import number, svg, text
from parity_tests.figures.run import results


CASES = {
    "SGD, dampening": "optimizers/sgd_dampening",
    "Adam, amsgrad": "optimizers/adam_amsgrad",
    "NAdam": "optimizers/nadam",
    "RAdam": "optimizers/radam",
    "Adagrad": "optimizers/adagrad",
    "Rprop": "optimizers/rprop",
}


class Losses(NamedTuple):
    """The loss before each step, by torch, by `jaxgrad.optim` and by the optax choice."""

    torch: tuple[float, ...]
    jax: tuple[float, ...]
    optax: tuple[float, ...]


def record() -> dict[str, Losses]:
    """Train with each optimizer in torch, with `jaxgrad.optim`, and with optax."""
    return {
        name: Losses(
            *(
                tuple(map(float, results(id)[side]["losses"]))
                for side in ("torch", "JAX", "without")
            )
        )
        for name, id in CASES.items()
    }


def draw(record: dict[str, Losses]) -> str:
    """Draw a small plot for each optimizer, two in a row."""
    parts = []
    entries = (
        ("line", "torch wide", "torch"),
        ("dot", "jax", "jaxgrad"),
        ("line", "plain dashed", "optax"),
    )
    parts.append(key(14, 24, entries))
    height = 202
    for place, (name, losses) in enumerate(record.items()):
        steps = range(len(losses.torch))
        values = [value for curve_ in losses for value in curve_]
        x = Scale(0, len(losses.torch) - 1, "step", [0, len(losses.torch) - 1])
        left, top = 46 + 216 * (place % 2), 102 + height * (place // 2)
        axes = Axes(left, top, 160, 84, x, linear(values, "loss", 3))
        parts.append(frame(axes))
        parts.append(text(left - 30, top - 50, name, "bold"))
        off = max(abs(a - b) for a, b in zip(losses.torch, losses.optax, strict=True))
        parts.append(
            text(left - 30, top - 32, f"optax differs by up to {number(round(off, 4))}", "faint")
        )
        parts.append(curve(axes, steps, losses.torch, "torch wide"))
        parts.append(curve(axes, steps, losses.optax, "plain dashed"))
        parts.append(dots(axes, steps, losses.jax, "jax"))
    rows = (len(record) + 1) // 2
    return svg(
        "Loss by step: torch, jaxgrad.optim, and the obvious optax choice",
        parts,
        50 + height * rows,
    )
