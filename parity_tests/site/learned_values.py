"""Draw the figure of port C of the one lesson: a lower loss, and weights that are wrong.

`parity_tests.site.one_lesson` trains both programs and writes the figure.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parity_tests.figures.axes import Axes, Scale, curve, frame, key, linear
from parity_tests.figures.canvas import svg, text
from parity_tests.runner.settings import ROOT


PATH = ROOT / "docs" / "_static" / "port_c.svg"
TITLE = (
    "Training by torch and by port C: the loss of the port falls lower, and its weights stay away "
    "from the true values of the states"
)
DISCOUNT = 0.9


class Curves(NamedTuple):
    """The loss before each step, and the distance of the weights from the true values."""

    loss: Sequence[float]
    distance: Sequence[float]


def true_values(s: np.ndarray, reward: np.ndarray, next_s: np.ndarray) -> np.ndarray:
    """Return the values of the states, which are the fixed point of torch's training.

    Args:
        s: The states, one-hot.
        reward: The rewards.
        next_s: The states that follow; zeros for the end.
    """
    return np.linalg.solve(s.T @ (s - DISCOUNT * next_s), s.T @ reward)


def draw(torch: Curves, port: Curves) -> str:
    """Return the figure as SVG: the losses on the left, the distances on the right."""
    last = len(torch.loss) - 1
    steps = range(last + 1)
    x = Scale(0, last, "step", [0, last // 2, last])
    parts = [key(14, 24, (("line", "torch wide", "torch"), ("line", "jax wide", "port C")))]
    columns = (
        ("loss", "which one would you keep?", torch.loss, port.loss),
        (
            "distance to the true values",
            "of the weights, states A and B",
            torch.distance,
            port.distance,
        ),
    )
    for place, (title, below, of_torch, of_port) in enumerate(columns):
        y = linear([*of_torch, *of_port], "", 3, zero=True)
        axes = Axes(46 + 216 * place, 98, 160, 110, x, y)
        parts += [
            frame(axes),
            text(axes.left - 30, 54, title, "bold"),
            text(axes.left - 30, 74, below, "faint"),
            curve(axes, steps, of_torch, "torch wide"),
            curve(axes, steps, of_port, "jax wide"),
        ]
    return svg(TITLE, parts, 256, projected=True)
