"""The learning rate of every scheduler: torch's, JAX's, and a contrast."""

from typing import NamedTuple

import numpy as np

from parity_tests.figures.axes import Axes, Scale, curve, dots, frame, key, linear
from parity_tests.figures.canvas import svg, text
from parity_tests.figures.run import results


NAMES = (
    *("lambda_lr", "multiplicative_lr", "step_lr", "multi_step_lr", "constant_lr", "linear_lr"),
    *("exponential_lr", "polynomial_lr", "cosine_annealing_lr", "cosine_annealing_warm_restarts"),
    *("one_cycle_lr", "cyclic_lr", "sequential_lr", "chained_scheduler", "swalr"),
    "reduce_lr_on_plateau",
)


class Rates(NamedTuple):
    """The learning rate at each step."""

    torch: tuple[float, ...]
    jax: tuple[float, ...]
    contrast: tuple[float, ...]


def record() -> dict[str, Rates]:
    """Run every scheduler in torch and in JAX, and the case's contrast."""
    found = {}
    for name in NAMES:
        sides = results(f"lr_scheduler/{name}").values()
        found[name] = Rates(*(tuple(np.asarray(side["lr"]).tolist()) for side in sides))
    return found


def draw(record: dict[str, Rates]) -> str:
    """Draw a small plot for each scheduler, two in a row."""
    entries = (
        ("line", "torch wide", "torch"),
        ("dot", "jax", "JAX"),
        ("line", "plain dashed", "contrast"),
    )
    parts, height = [key(14, 24, entries)], 152
    for place, (name, rates) in enumerate(record.items()):
        count = len(rates.torch)
        values = [rate for side in rates for rate in side]
        left, top = 46 + 200 * (place % 2), 84 + height * (place // 2)
        x = Scale(0, count - 1, "step", range(0, count, 20))
        axes = Axes(left, top, 146, 64, x, linear(values, "learning rate", 2))
        some = range(0, count, 4)
        parts.append(frame(axes))
        parts.append(text(left - 30, top - 32, name))
        parts.append(curve(axes, range(count), rates.torch, "torch wide"))
        parts.append(curve(axes, range(count), rates.contrast, "plain dashed"))
        parts.append(dots(axes, some, [rates.jax[i] for i in some], "jax", radius=2.2))
    rows = (len(record) + 1) // 2
    return svg("The learning rate of every scheduler", parts, 42 + height * rows)
