"""What losses share: floats of one dtype, floors with torch's gradient, constants."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.derivative import derivative, not_differentiable
from jaxgrad.functional._core.dtypes import reject


EPSILON = float(np.float32(1e-12))  # torch's kernel has it as a float, also in float64


def _constants(**weights: Any) -> list[jax.Array]:
    """The weights that are given, each of which raises when it is differentiated."""
    return [constant(w, name) for name, w in weights.items() if w is not None]


def constant(x: Any, name: str) -> jax.Array:
    """An array that torch does not differentiate by."""

    def same(x: jax.Array) -> jax.Array:
        return x

    return derivative(not_differentiable(name))(same)(array(x, name))


def _scaled(loss: jax.Array, *weight: jax.Array) -> jax.Array:
    return loss * weight[0] if weight else loss


def loss_arguments(
    name: str, input: Any, target: Any = None, *, complex: bool = False
) -> list[jax.Array]:
    """The arrays of a loss, of which one must be of floats, and none complex unless `complex`."""
    arrays = [array(input)] + ([] if target is None else [array(target, "target")])
    reject(name, "bool integer" if complex else "bool integer complex", *arrays)
    return arrays
