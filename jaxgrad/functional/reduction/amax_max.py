"""Largest and smallest elements: torch's gradients at ties, and what it returns by a dim."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import (
    Dim,
    array,
    canonical_dim,
    canonical_dims,
    is_floating,
)
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.pointwise.clamp import maximum, minimum


class ValuesIndices(NamedTuple):
    """What torch returns of a reduction along a dim: the values, and where they are."""

    values: jax.Array
    indices: jax.Array


class MinMax(NamedTuple):
    """The least and the largest."""

    min: jax.Array
    max: jax.Array


def amax(input: jax.Array, dim: Dim = None, keepdim: bool = False) -> jax.Array:
    """The largest over some dims, or of all; ties share the gradient.

    Raises:
        RuntimeError: The input is empty and there is no dim.
        IndexError: A dim is empty.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(amax)(jnp.array([1.0, 2.0, 2.0])))
        [0.  0.5 0.5]

    Gradient conventions: docs/operators.md.
    Torch: `torch.amax`.
    """
    reject("amax", "complex", input)
    return _extreme("amax", _amax, input, dim, keepdim)


def amin(input: jax.Array, dim: Dim = None, keepdim: bool = False) -> jax.Array:
    """The least over some dims, or of all; ties share the gradient.

    Raises:
        RuntimeError: The input is empty and there is no dim.
        IndexError: A dim is empty.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(amin)(jnp.array([1.0, 1.0, 2.0])))
        [0.5 0.5 0. ]

    Gradient conventions: docs/operators.md.
    Torch: `torch.amin`.
    """
    reject("amin", "complex", input)
    return _extreme("amin", _amin, input, dim, keepdim)


def _extreme(name: str, fun: Any, input: Any, dim: Dim, keepdim: bool) -> jax.Array:
    input = array(input)
    axes = canonical_dims(dim, input.ndim)
    not_empty(name, input, dim, axes)
    out = fun(input, axes=axes)
    return out if keepdim else jnp.squeeze(out, axes)


def _among(t: Any, out: Any, x: Any, axes: Any) -> Any:
    """Among those that are equal to the result: none is where it is NaN, and all are NaN then."""
    share = (x == out).astype(t.dtype)
    count = jnp.sum(share, axes, keepdims=True)
    # XLA makes 0 of mask / 0.
    return jnp.sum(t * jnp.where(count == 0, jnp.nan, share / count), axes, keepdims=True)


@derivative(_among)
def _amax(x: jax.Array, *, axes: Any) -> jax.Array:
    return jnp.max(x, axes, keepdims=True)


@derivative(_among)
def _amin(x: jax.Array, *, axes: Any) -> jax.Array:
    return jnp.min(x, axes, keepdims=True)


def not_empty(name: str, input: jax.Array, dim: Any, axes: Any) -> None:
    if dim is None and not input.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    for axis in axes:
        if not input.shape[axis]:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def shared(t: Any, out: Any, x: Any, **_: Any) -> Any:
    """Among those that are equal to the result; where it is NaN, among the NaN."""
    equal = (x == out) | (jnp.isnan(x) & jnp.isnan(out)) if is_floating(x) else x == out
    return jnp.sum(jnp.where(equal, t, 0) / jnp.sum(equal.astype(t.dtype)))


@derivative(shared)
def _max(x: jax.Array) -> jax.Array:
    return jnp.max(x)


@derivative(shared)
def _min(x: jax.Array) -> jax.Array:
    return jnp.min(x)


def aminmax(input: jax.Array, *, dim: int | None = None, keepdim: bool = False) -> MinMax:
    """The least and the largest along a dim, or of all.

    Raises:
        RuntimeError: There is nothing to reduce.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*aminmax(jnp.array([1.0, 2.0])))
        1.0 2.0

    Torch: `torch.aminmax`.
    """
    reject("aminmax", "complex", input)
    input = array(input)
    if not input.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    return MinMax(amin(input, dim, keepdim), amax(input, dim, keepdim))


@overload
def max(input: jax.Array) -> jax.Array: ...
@overload
def max(input: jax.Array, dim: int, keepdim: bool = ...) -> ValuesIndices: ...
@overload
def max(input: jax.Array, dim: jax.Array) -> jax.Array: ...


def max(input: jax.Array, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest of all, along a dim with its index, or the larger of two arrays.

    Args:
        input: Of any shape.
        dim: None for all: ties share the gradient. An int: the first of a tie has it. An array:
            `maximum`.
        keepdim: Whether the dim stays, with size 1.

    Returns:
        An array, or `(values, indices)` where there is a dim.

    Raises:
        RuntimeError: The input is empty and there is no dim.
        IndexError: The dim is empty.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jnp.array([1.0, 2.0, 2.0])
        >>> print(jax.grad(lambda x: max(x, 0).values)(x), jax.grad(jnp.max)(x))
        [0. 1. 0.] [0.  0.5 0.5]

    Gradient conventions: docs/operators.md.
    Torch: `torch.max`.

    Differs from jax in:
        1. Along a dim the first of a tie has the gradient (`jnp.max`: shared).
        2. A NaN has the gradient (`jnp.max`: all are NaN).
    """
    reject("max", "complex", input)
    return _chosen("max", input, dim, keepdim)


@overload
def min(input: jax.Array) -> jax.Array: ...
@overload
def min(input: jax.Array, dim: int, keepdim: bool = ...) -> ValuesIndices: ...
@overload
def min(input: jax.Array, dim: jax.Array) -> jax.Array: ...


def min(input: jax.Array, dim: Any = None, keepdim: bool = False) -> Any:
    """The least of all, along a dim with its index, or the smaller of two arrays.

    Args:
        input: Of any shape.
        dim: None for all: ties share the gradient. An int: the first of a tie has it. An array:
            `minimum`.
        keepdim: Whether the dim stays, with size 1.

    Returns:
        An array, or `(values, indices)` where there is a dim.

    Raises:
        RuntimeError: The input is empty and there is no dim.
        IndexError: The dim is empty.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jnp.array([1.0, 1.0, 2.0])
        >>> print(jax.grad(lambda x: min(x, 0).values)(x), jax.grad(jnp.min)(x))
        [1. 0. 0.] [0.5 0.5 0. ]

    Gradient conventions: docs/operators.md.
    Torch: `torch.min`.

    Differs from jax in:
        1. Along a dim the first of a tie has the gradient (`jnp.min`: shared).
        2. A NaN has the gradient (`jnp.min`: all are NaN).
    """
    reject("min", "complex", input)
    return _chosen("min", input, dim, keepdim)


def _chosen(name: str, input: Any, dim: Any, keepdim: bool) -> Any:
    input = array(input)
    largest = name == "max"
    if dim is None:
        not_empty(name, input, None, ())
        return (_max if largest else _min)(input)
    if not isinstance(dim, int):
        return (maximum if largest else minimum)(input, dim)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    not_empty(name, input, dim, (axis,))
    at = (jnp.argmax if largest else jnp.argmin)(input, axis, keepdims=True).astype(int)
    return picked(input, at, axis, keepdim)


def picked(input: jax.Array, at: jax.Array, axis: int, keepdim: bool) -> ValuesIndices:
    """The values at these indices along a dim, of size 1."""
    values = jnp.take_along_axis(input, at, axis)
    if keepdim:
        return ValuesIndices(values, at)
    return ValuesIndices(jnp.squeeze(values, axis), jnp.squeeze(at, axis))
