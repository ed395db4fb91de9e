"""The gradient that `retain_grad` keeps of every hidden state of a recurrent network."""

from typing import NamedTuple

import numpy as np

from parity_tests.figures.axes import Axes, Scale, bar, frame, key, linear
from parity_tests.figures.canvas import Point, arrow, labelled, svg, text
from parity_tests.figures.run import results


CASE = "hooks/retain_grad"


class Record(NamedTuple):
    """The norm of the gradient of each hidden state, first step first."""

    torch: tuple[float, ...]
    jax: tuple[float, ...]


def record() -> Record:
    """Run the recurrent network in torch and in JAX, and measure what is kept."""
    kept = [np.asarray(results(CASE)[side]["retained"]["h"]) for side in ("torch", "JAX")]
    return Record(*(tuple(float(np.linalg.norm(grad)) for grad in side) for side in kept))


def draw(record: Record) -> str:
    """Draw the unrolled network, and above each hidden state the norm of its kept gradient."""
    count = len(record.torch)
    scale = linear(record.torch, "norm of the kept gradient", 3, zero=True)
    axes = Axes(56, 60, 366, 130, Scale(0, count, "", ()), scale)
    parts = [text(14, 24, "h.retain_grad() in every step", "bold"), frame(axes)]
    width = 366 / count
    for i, (torch_norm, jax_norm) in enumerate(zip(*record, strict=True)):
        parts.append(bar(axes, i + 0.2, i + 0.5, torch_norm, "torch"))
        parts.append(bar(axes, i + 0.5, i + 0.8, jax_norm, "jax"))
        x = 56 + width * (i + 0.5)
        parts.append(labelled(Point(x, 222), 40, f"h{i + 1}", "plain"))
        left = x + width - 20 if i + 1 < count else None
        if left is not None:
            parts.append(arrow(Point(left, 222), Point(x + 21, 222), "torch"))
    parts.append(text(56, 258, "← backward: the loss reads the last hidden state", "faint"))
    parts.append(key(56, 282, (("box", "torch", "torch"), ("box", "jax", "JAX"))))
    return svg("The gradients that retain_grad keeps in a recurrent network", parts, 296)
