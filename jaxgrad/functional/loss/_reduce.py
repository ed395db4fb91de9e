"""Handling of loss arguments: supported dtypes and non-differentiable weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.derivative import derivative, not_differentiable
from jaxgrad.functional._core.dtypes import reject


EPSILON = float(np.float32(1e-12))  # rounded to float32 even for float64, as in torch


def constants(**weights: Any) -> list[Array]:
    """Return the weights that are not None; differentiating with respect to one raises."""
    return [constant(w, name) for name, w in weights.items() if w is not None]


def constant(x: Any, name: str) -> Array:
    """Return the array unchanged, so that differentiating with respect to it raises as in torch."""

    def identity(x: Array) -> Array:
        return x

    return derivative(not_differentiable(name))(identity)(array(x, name))


def weighted(loss: Array, *weight: Array) -> Array:
    """Return the loss, multiplied by the weight if there is one."""
    return loss * weight[0] if weight else loss


def loss_arguments(
    name: str, input: Any, target: Any = None, *, complex: bool = False
) -> list[Array]:
    """Return input and target as arrays, rejecting dtypes that the loss has no kernel for."""
    arrays = [array(input)] + ([] if target is None else [array(target, "target")])
    reject(name, "bool integer" if complex else "bool integer complex", *arrays)
    return arrays
