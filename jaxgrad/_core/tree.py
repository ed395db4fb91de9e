"""Questions about pytrees and their leaves. `None` counts as a leaf that means "no gradient"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp


def is_none(x: Any) -> bool:
    return x is None


def is_array(x: Any) -> bool:
    """Return whether JAX can trace `x`: an array, a tracer, or a Python or NumPy number."""
    try:
        jax.typeof(x)
    except TypeError:
        return False
    return True


def is_inexact(x: Any) -> bool:
    """Return whether `x` has a real or complex floating point dtype.

    `x` may be an array, an abstract value or a variable of a jaxpr. A Python number has no dtype.
    """
    dtype = getattr(getattr(x, "aval", x), "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.inexact)


def is_differentiable(x: Any) -> bool:
    """Return whether `x` is a floating point array or number, real or complex."""
    return is_array(x) and jnp.issubdtype(jnp.result_type(x), jnp.inexact)


def kind(x: Any) -> str:
    """Describe a leaf in an error message: its dtype, or its type if it is not an array."""
    return str(jnp.result_type(x)) if is_array(x) else type(x).__name__


def select(mask: Sequence[bool], values: Iterable[Any]) -> list[Any]:
    """Return the values where `mask` is true."""
    return [x for m, x in zip(mask, values, strict=True) if m]


def partition(mask: Sequence[bool], values: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Return the values where `mask` is true, and the other values."""
    values = list(values)
    return select(mask, values), select([not m for m in mask], values)


def merge(
    mask: Sequence[bool], chosen: Iterable[Any], rest: Iterable[Any] | None = None
) -> list[Any]:
    """Undo `partition`; without `rest`, the places where `mask` is false get None."""
    a, b = iter(chosen), iter([None] * len(mask) if rest is None else rest)
    return [next(a) if m else next(b) for m in mask]
