"""Largest and smallest elements, with torch's gradients at ties and its return types."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import (
    Dim,
    array,
    canonical_dim,
    canonical_dims,
    is_floating,
)
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.pointwise.clamp_maximum import maximum, minimum


class ValuesIndices(NamedTuple):
    """The values that a reduction along a dim selects, and their indices along that dim."""

    values: Array
    indices: Array


class MinMax(NamedTuple):
    """The smallest and the largest elements."""

    min: Array
    max: Array


def amax(input: Array, dim: Dim = None, keepdim: bool = False) -> Array:
    """Return the maximum over the given dims or all dims; ties share the gradient equally.

    Raises:
        RuntimeError: The input is empty and `dim` is None.
        IndexError: A reduced dim has size 0.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(amax)(jnp.array([1.0, 2.0, 2.0])))
        [0.  0.5 0.5]

    Torch: `torch.amax`. Gradient conventions: docs/operators.md.
    """
    reject("amax", "complex", input)
    return _extreme("amax", amax_kernel, input, dim, keepdim)


def amin(input: Array, dim: Dim = None, keepdim: bool = False) -> Array:
    """Return the minimum over the given dims or all dims; ties share the gradient equally.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(amin)(jnp.array([1.0, 1.0, 2.0])))
        [0.5 0.5 0. ]

    Torch: `torch.amin`. Gradient conventions: docs/operators.md.
    """
    reject("amin", "complex", input)
    return _extreme("amin", amin_kernel, input, dim, keepdim)


def _extreme(name: str, fun: Any, input: Any, dim: Dim, keepdim: bool) -> Array:
    input = array(input)
    axes = canonical_dims(dim, input.ndim)
    require_nonempty(name, input, dim, axes)
    out = fun(input, axes=axes)
    return out if keepdim else jnp.squeeze(out, axes)


def _split_evenly(t: Any, out: Any, x: Any, axes: Any) -> Any:
    """Split the gradient among the elements equal to the result; for a NaN result it is NaN."""
    ties = (x == out).astype(t.dtype)
    count = jnp.sum(ties, axes, keepdims=True)
    # XLA may simplify ties / 0 to 0.
    return jnp.sum(t * jnp.where(count == 0, jnp.nan, ties / count), axes, keepdims=True)


@derivative(_split_evenly)
def amax_kernel(x: Array, *, axes: Any) -> Array:
    return jnp.max(x, axes, keepdims=True)


@derivative(_split_evenly)
def amin_kernel(x: Array, *, axes: Any) -> Array:
    return jnp.min(x, axes, keepdims=True)


def require_nonempty(name: str, input: Array, dim: Any, axes: Any) -> None:
    """Raise torch's error for a reduction over no elements."""
    if dim is None and not input.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    for axis in axes:
        if not input.shape[axis]:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def split_among_ties(t: Any, out: Any, x: Any, **_: Any) -> Any:
    """Split the gradient of a full reduction among elements equal to the result, or all NaN."""
    equal = (x == out) | (jnp.isnan(x) & jnp.isnan(out)) if is_floating(x) else x == out
    return jnp.sum(jnp.where(equal, t, 0) / jnp.sum(equal.astype(t.dtype)))


@derivative(split_among_ties)
def _max(x: Array) -> Array:
    return jnp.max(x)


@derivative(split_among_ties)
def _min(x: Array) -> Array:
    return jnp.min(x)


def aminmax(input: Array, *, dim: int | None = None, keepdim: bool = False) -> MinMax:
    """Return the minimum and the maximum along a dim or over all elements.

    Raises:
        RuntimeError: The input is empty and `dim` is None.
        IndexError: The dim has size 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*aminmax(jnp.array([1.0, 2.0])))
        1.0 2.0

    Torch: `torch.aminmax`.
    """
    reject("aminmax", "complex", input)
    input = array(input)
    if dim is None and not input.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    if dim is not None and input.ndim and not input.shape[canonical_dim(dim, input.ndim)]:
        raise IndexError(f"aminmax: Expected reduction dim {dim} to have non-zero size.")
    return MinMax(amin(input, dim, keepdim), amax(input, dim, keepdim))


@overload
def max(input: Array) -> Array: ...
@overload
def max(input: Array, dim: int, keepdim: bool = ...) -> ValuesIndices: ...
@overload
def max(input: Array, dim: Array) -> Array: ...


def max(input: Array, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the maximum of all elements or along a dim, or the elementwise maximum of two arrays.

    Args:
        input: Array of any shape.
        dim: None reduces all elements, and ties share the gradient. An int reduces that dim, and
            the first of a tie gets the gradient. An array computes `maximum(input, dim)`.
        keepdim: Whether to keep the reduced dim with size 1.

    Returns:
        An array, or `(values, indices)` if `dim` is an int.

    Raises:
        RuntimeError: The input is empty and `dim` is None.
        IndexError: The dim has size 0.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jnp.array([1.0, 2.0, 2.0])
        >>> print(jax.grad(lambda x: max(x, 0).values)(x), jax.grad(jnp.max)(x))
        [0. 1. 0.] [0.  0.5 0.5]

    Torch: `torch.max`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Along a dim the first of a tie receives the gradient (`jnp.max`: ties share it).
        2. A NaN element receives the gradient (`jnp.max`: all gradients are NaN).
    """
    reject("max", "complex", input)
    return _max_or_min("max", input, dim, keepdim)


@overload
def min(input: Array) -> Array: ...
@overload
def min(input: Array, dim: int, keepdim: bool = ...) -> ValuesIndices: ...
@overload
def min(input: Array, dim: Array) -> Array: ...


def min(input: Array, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the minimum of all elements or along a dim, or the elementwise minimum of two arrays.

    The arguments, return types and errors are those of `max`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jnp.array([1.0, 1.0, 2.0])
        >>> print(jax.grad(lambda x: min(x, 0).values)(x), jax.grad(jnp.min)(x))
        [1. 0. 0.] [0.5 0.5 0. ]

    Torch: `torch.min`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Along a dim the first of a tie receives the gradient (`jnp.min`: ties share it).
        2. A NaN element receives the gradient (`jnp.min`: all gradients are NaN).
    """
    reject("min", "complex", input)
    return _max_or_min("min", input, dim, keepdim)


def _max_or_min(name: str, input: Any, dim: Any, keepdim: bool) -> Any:
    input = array(input)
    largest = name == "max"
    if dim is None:
        require_nonempty(name, input, None, ())
        return (_max if largest else _min)(input)
    if not isinstance(dim, int):
        return (maximum if largest else minimum)(input, dim)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    require_nonempty(name, input, dim, (axis,))
    indices = (jnp.argmax if largest else jnp.argmin)(input, axis, keepdims=True).astype(int)
    return select_along(input, indices, axis, keepdim)


def select_along(input: Array, indices: Array, axis: int, keepdim: bool) -> ValuesIndices:
    """Return the values at `indices`, which have size 1 along the axis, and the indices."""
    values = jnp.take_along_axis(input, indices, axis)
    if keepdim:
        return ValuesIndices(values, indices)
    return ValuesIndices(jnp.squeeze(values, axis), jnp.squeeze(indices, axis))
