"""The Huber loss and its gradient, by one custom rule in torch and in JAX."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import torch

import jaxgrad
from parity_tests.cases import custom
from parity_tests.figures.axes import Axes, Scale, curve, dots, frame, key, linear
from parity_tests.figures.canvas import number, svg, text
from torch_ref.custom import Huber


CASE = "custom/huber"
DELTA = 1.0
ERRORS = tuple(np.linspace(-3, 3, 49).tolist())


class Side(NamedTuple):
    """One framework's losses and gradients, for an error at a time."""

    losses: tuple[float, ...]
    grads: tuple[float, ...]


class Record(NamedTuple):
    torch: Side
    jax: Side


def record() -> Record:
    """Compute the loss and the gradient of each error with the custom rule."""
    zero, of_torch, of_jax = torch.zeros((), dtype=torch.float64), [], []
    huber = jaxgrad.from_function(custom.Huber)
    for error in ERRORS:
        prediction = torch.tensor(error, dtype=torch.float64, requires_grad=True)
        loss = Huber.apply(prediction, zero, DELTA)
        loss.backward()
        assert prediction.grad is not None
        of_torch.append((loss.item(), prediction.grad.item()))
        pair = jaxgrad.value_and_grad(lambda p: huber(p, jnp.zeros_like(p), DELTA))(
            jnp.asarray(error)
        )
        of_jax.append(tuple(map(float, pair)))
    return Record(*(Side(*zip(*side, strict=True)) for side in (of_torch, of_jax)))


def draw(record: Record) -> str:
    """Draw the loss above its gradient."""
    # The axis begins left of -3, so that this label does not touch the 0 of the vertical axis.
    parts, xs = [], Scale(-3.4, 3.4, "prediction − target", [-3, -2, -1, 0, 1, 2, 3])
    for top, title in ((62, "loss"), (266, "gradient")):
        torch_side, jax_side = (side.losses if title == "loss" else side.grads for side in record)
        axes = Axes(56, top, 366, 130, xs, linear(torch_side, title, 3))
        parts.append(frame(axes))
        parts.append(curve(axes, ERRORS, torch_side, "torch wide"))
        some = range(0, len(ERRORS), 4)
        parts.append(dots(axes, [ERRORS[i] for i in some], [jax_side[i] for i in some], "jax"))
    parts.append(text(14, 22, f"The gradient is the error, cut off at ±{number(DELTA)}", "bold"))
    parts.append(key(56, 454, (("line", "torch wide", "torch"), ("dot", "jax", "JAX"))))
    return svg("The Huber loss is quadratic near zero and linear beyond delta", parts, 468)
