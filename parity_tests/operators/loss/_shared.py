"""Calls, arrays and strategies that several records of `loss` share."""

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call
from parity_tests.operators._harness.draw import floats, masks, pairs, shapes


inf, nan = np.inf, np.nan
SIDES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, inf, -inf, nan]
PAIRS = pairs(SIDES, SIDES)
F = torch.nn.functional
REDUCTIONS = st.sampled_from(["none", "mean", "sum"])
ROW = [[0.5, -1.0, 2.0]]
LABEL = np.array([1])
THREE = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [0.0, 1.0, 0.0]]


def with_weights_in_input_dtype(name):
    """Return torch's function of this name with integer weights cast to the input's dtype.

    The weights are integers because torch has no gradient with respect to them. The name is looked
    up when the function is called, because an older torch may lack it.
    """

    def called(input, target, *args, weight=None, **kwargs):
        if weight is not None and not weight.is_floating_point():
            weight = weight.to(input.dtype)
        return getattr(F, name)(input, target, *args, weight=weight, **kwargs)

    return called


NO_WEIGHT_GRADIENT = RaisesFor(
    call(ROW, LABEL, weight=[1.0, 2.0, 3.0]),
    RuntimeError,
    torch="not differentiable with respect to argument 'weight'",
    jax="derivative for weight is not implemented",
    when="backward",
)
NONE = {"reduction": "none"}
UNKNOWN_REDUCTION = RaisesFor(call(np.ones(2), np.ones(2), reduction="x"), ValueError, "x is not")


def signs(draw, shape):
    """Draw labels 1 and -1, as integers because torch defines no gradient for them."""
    return np.where(draw(masks(shape)), 1, -1)


def two(draw, low=-3.0, high=3.0):
    shape = draw(shapes())
    return [draw(floats(shape, low, high)) for _ in range(2)]


def reduced(loss, reduction):
    return loss if reduction == "none" else getattr(jnp, reduction)(loss)
