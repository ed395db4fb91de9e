"""What the forward pass keeps for the backward pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jaxgrad import _jaxpr


def saved_bytes(fun: Callable[..., Any], *args: Any) -> int:
    """The bytes that differentiating `fun` keeps from its forward to its backward pass.

    Arguments and constants are there anyway and do not count; a value kept twice counts once.

    Args:
        fun: a function of trees of floating point arrays.
        *args: what it is traced at; only shapes and dtypes matter.

    Returns:
        A number of bytes. It is what `jax.vjp` keeps; under `jax.jit` the compiler may keep less.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> f = lambda x: jnp.sin(jnp.sin(x))
        >>> x = jnp.ones(100, jnp.float32)
        >>> saved_bytes(f, x), saved_bytes(jax.checkpoint(f), x)
        (800, 0)

    Torch: the storage seen by `torch.autograd.graph.saved_tensors_hooks`, parameters apart.
    """
    kept = _jaxpr.residuals(fun, *args)
    return sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in kept)
