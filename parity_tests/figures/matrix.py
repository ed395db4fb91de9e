"""None, zero or a number: what each way to stop a gradient leaves in the parameters."""

from typing import Any, NamedTuple
from unittest import mock

import jax
import numpy as np

import jaxgrad
from jaxgrad.parity import interop
from parity_tests.figures.canvas import Point, labelled, number, svg, text
from parity_tests.figures.run import arrays, results
from parity_tests.runner.observe import find


LOST = "none_or_zero/none_or_zero"
STOPPED = "grad_modes/recorded"
WAYS = {
    "used": "p * x",
    "times_zero": "p * x * 0",
    "masked": "where(mask, p * x, x)",
    "rounded": "floor(p) * x",
    "detached": "p.detach() * x",
    "as_integer": "p.long() * x",
    "compared": "(p > 0) * x",
    "unused": "not used",
}
STOPS = {
    "nothing": "nothing",
    "detach": "detach",
    "no_grad": "no_grad",
    "inference_mode": "inference_mode",
    "optimizer": "not in the optimizer",
    "manual": "zeroed by hand",
}
LEGEND = (
    (42, "None", "faint dashed", "no path"),
    (166, "0", "violet", "only zeros"),
    (332, "number", "kept", "norm"),
)


class Matrix(NamedTuple):
    """A title, the column heads in groups, and for each row the cells: None or a norm."""

    title: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]


def record_lost() -> Matrix:
    """Run the eight ways to use a parameter in torch, with `jaxgrad` and with `jax.grad`."""
    sides = results(LOST)
    case = find(LOST)
    with mock.patch.object(jaxgrad, "value_and_grad", jax.value_and_grad):
        plain = interop.to_numpy(case.fun(**arrays(LOST)))
    columns = (sides["torch"], sides["JAX"], plain)
    return Matrix(
        "a parameter p enters the loss as",
        (("gradient of p", ("torch", "jaxgrad", "jax.grad")),),
        tuple(
            (words, tuple(_norm(side[name]) for side in columns)) for name, words in WAYS.items()
        ),
    )


def record_stopped() -> Matrix:
    """Run the ways to stop L1's gradient, in torch and in JAX."""
    sides = [results(STOPPED)[name] for name in ("torch", "JAX")]
    rows = []
    for name, words in STOPS.items():
        cells = [_norm(side[name]["grads"][layer]) for side in sides for layer in ("l1", "l2")]
        rows.append((words, tuple(cells)))
    heads = ("L1", "L2")
    return Matrix("gradients are stopped by", (("torch", heads), ("JAX", heads)), tuple(rows))


def _norm(tree: Any) -> float | None:
    """Return the norm of a tree of gradients, or None if none of them exists."""
    leaves = [np.ravel(leaf) for leaf in jax.tree.leaves(tree)]
    return float(np.linalg.norm(np.concatenate(leaves))) if leaves else None


def draw(matrix: Matrix) -> str:
    """Draw a cell for each value; None is an empty frame."""
    columns = [head for _, heads in matrix.groups for head in heads]
    width = 252 / len(columns)
    parts = [text(14, 24, matrix.title, "faint")]
    left = 178.0
    for title, heads in matrix.groups:
        parts.append(text(left + width * len(heads) / 2, 24, title, "middle bold"))
        left += width * len(heads)
    for column, head in enumerate(columns):
        parts.append(text(178 + width * (column + 0.5), 50, head, "middle faint"))
    for row, (words, cells) in enumerate(matrix.rows):
        y = 76 + 32 * row
        parts.append(text(14, y + 4, words, "mono"))
        for column, value in enumerate(cells):
            place = Point(178 + width * (column + 0.5), y)
            label = "None" if value is None else number(value)
            look = "faint dashed" if value is None else "violet" if value == 0 else "kept"
            parts.append(labelled(place, width - 8, label, look))
    bottom = 76 + 32 * len(matrix.rows) + 8
    for x, label, look, words in LEGEND:
        parts.append(labelled(Point(x, bottom), 56, label, look, height=22))
        parts.append(text(x + 34, bottom + 4, words, "faint"))
    return svg(f"None, zero or a number: {matrix.title} ...", parts, bottom + 24)
