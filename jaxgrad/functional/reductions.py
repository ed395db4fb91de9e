"""Reductions and running ones: torch's dims, dtypes and gradients at ties, zeros and infinities."""

from __future__ import annotations

import builtins
import math
from typing import Any, NamedTuple, overload

import jax
import jax.numpy as jnp

from ._arguments import (
    Dim,
    array,
    canonical_dim,
    canonical_dims,
    in_opmath,
    is_complex,
    is_floating,
)
from ._rule import derivative
from .pointwise import maximum, minimum


class ValuesIndices(NamedTuple):
    """What torch returns of a reduction along a dim: the values, and where they are."""

    values: jax.Array
    indices: jax.Array


class MinMax(NamedTuple):
    """The least and the largest."""

    min: jax.Array
    max: jax.Array


def widened(input: Any, dtype: Any) -> jax.Array:
    """The input in the dtype that it is summed in: integers in int64."""
    input = array(input)
    if dtype is not None:
        return input.astype(dtype)
    return input if is_floating(input) else input.astype(int)


def sum(
    input: jax.Array, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None
) -> jax.Array:
    """The sum over some dims, or over all; integers are summed as int64.

    Example:
        >>> import jax.numpy as jnp
        >>> print(sum(jnp.ones((2, 3)), 0))
        [2. 2. 2.]

    Torch: `torch.sum`.
    """
    input = widened(input, dtype)
    axes = canonical_dims(dim, input.ndim)
    return exact(lambda x: jnp.sum(x, axes, keepdims=keepdim), input)


def exact(fun: Any, input: jax.Array) -> jax.Array:
    return in_opmath(fun, input) if is_floating(input) else fun(input)


def mean(
    input: jax.Array, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None
) -> jax.Array:
    """The mean over some dims, or over all.

    Raises:
        RuntimeError: The input is of integers.

    Example:
        >>> import jax.numpy as jnp
        >>> print(mean(jnp.array([[1.0, 3.0]]), 1))
        [2.]

    Torch: `torch.mean`.
    """
    input = _of_floats("mean", input if dtype is None else array(input).astype(dtype))
    axes = canonical_dims(dim, input.ndim)
    return in_opmath(lambda x: jnp.mean(x, axes, keepdims=keepdim), input)


def _of_floats(name: str, input: Any) -> jax.Array:
    input = array(input)
    if not is_floating(input):
        raise RuntimeError(
            f"{name}(): the input dtype should be either floating point or complex. Got: "
            f"{input.dtype}; cast it"
        )
    return input


def nansum(
    input: jax.Array, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None
) -> jax.Array:
    """The sum of what is not NaN.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nansum(jnp.array([1.0, jnp.nan])))
        1.0

    Torch: `torch.nansum`.
    """
    input = widened(input, dtype)
    return sum(jnp.where(jnp.isnan(input), 0, input), dim, keepdim)


def nanmean(
    input: jax.Array, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None
) -> jax.Array:
    """The mean of what is not NaN.

    Raises:
        RuntimeError: The input is of integers.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nanmean(jnp.array([1.0, jnp.nan])))
        1.0

    Torch: `torch.nanmean`.
    """
    input = _of_floats("nanmean", input if dtype is None else array(input).astype(dtype))
    axes = canonical_dims(dim, input.ndim)

    def average(x: jax.Array) -> jax.Array:
        counts = ~jnp.isnan(x)
        total = jnp.sum(jnp.where(counts, x, 0), axes, keepdims=keepdim)
        return total / jnp.sum(counts, axes, keepdims=keepdim).astype(x.dtype)

    return in_opmath(average, input)


def prod(
    input: jax.Array, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None
) -> jax.Array:
    """The product along one dim, or of all elements; of integers it is int64.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(prod)(jnp.array([0.0, 2.0, 3.0])))
        [6. 0. 0.]

    Torch: `torch.prod`.
    """
    input = widened(input, dtype)
    axes = canonical_dims(dim, input.ndim)
    return exact(lambda x: jnp.prod(x, axes, keepdims=keepdim), input)


def var(
    input: jax.Array,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> jax.Array:
    """The variance over some dims, divided by N - 1.

    Args:
        input: Of any shape.
        dim: One dim, several, or None for all; True and False are `unbiased`, of all.
        unbiased: torch's older word: True is a correction of 1, False of 0.
        keepdim: Whether the dims stay, with size 1.
        correction: What is taken from N.

    Raises:
        RuntimeError: The input is of integers.

    Example:
        >>> import jax.numpy as jnp
        >>> print(var(jnp.array([1.0, 3.0])), jnp.var(jnp.array([1.0, 3.0])))
        2.0 1.0

    Torch: `torch.var`.

    Differs from jax in:
        1. It divides by N - 1 (`jnp.var`: by N).
    """
    return _moments(input, dim, correction, keepdim, unbiased)[0]


def std(
    input: jax.Array,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> jax.Array:
    """The standard deviation over some dims, of N - 1 and with gradient 0 of a constant.

    Args:
        input: Of any shape.
        dim: One dim, several, or None for all; True and False are `unbiased`, of all.
        unbiased: torch's older word: True is a correction of 1, False of 0.
        keepdim: Whether the dims stay, with size 1.
        correction: What is taken from N.

    Raises:
        RuntimeError: The input is of integers.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(std)(jnp.ones(2)), jax.grad(jnp.std)(jnp.ones(2)))
        [0. 0.] [nan nan]

    Torch: `torch.std`.

    Differs from jax in:
        1. It divides by N - 1 (`jnp.std`: by N).
        2. Of a constant the gradient is 0 (`jnp.std`: NaN).
    """
    return std_mean(input, dim, correction=correction, keepdim=keepdim, unbiased=unbiased)[0]


def var_mean(
    input: jax.Array,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> tuple[jax.Array, jax.Array]:
    """The variance and the mean, as of `var` and `mean`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*var_mean(jnp.array([1.0, 3.0])))
        2.0 2.0

    Torch: `torch.var_mean`.
    """
    return _moments(input, dim, correction, keepdim, unbiased)


def std_mean(
    input: jax.Array,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> tuple[jax.Array, jax.Array]:
    """The standard deviation and the mean, as of `std` and `mean`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*std_mean(jnp.array([1.0, 3.0]), correction=0))
        1.0 2.0

    Torch: `torch.std_mean`.
    """
    return _moments(input, dim, correction, keepdim, unbiased, root=True)


def _moments(
    input: Any,
    dim: Dim,
    correction: float | None,
    keepdim: bool,
    unbiased: bool | None,
    *,
    root: bool = False,
) -> tuple[jax.Array, jax.Array]:
    input = array(input)
    if not is_floating(input):
        raise RuntimeError(
            f"std and var only support floating point and complex dtypes, not {input.dtype}"
        )
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = int(unbiased)
    axes = canonical_dims(dim, input.ndim)
    count = math.prod(input.shape[a] for a in axes)
    free = count - (1 if correction is None else correction)
    options = {"axes": axes, "free": free, "whole": dim is None or not input.ndim}

    def moments(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        spread = (_std if root else _var)(x, **options)
        found = spread, jnp.mean(x, axes, keepdims=True)
        return found if keepdim else (jnp.squeeze(found[0], axes), jnp.squeeze(found[1], axes))

    return in_opmath(moments, input)


def _centred(x: jax.Array, axes: Any) -> jax.Array:
    return x - jnp.mean(x, axes, keepdims=True)


def _along(t: jax.Array, factor: jax.Array, axes: Any) -> jax.Array:
    product = jnp.real(jnp.conj(factor) * t) if is_complex(factor) else factor * t
    return jnp.sum(product, axes, keepdims=True)


def _var_derivative(t: Any, _: Any, x: Any, axes: Any, free: float, whole: bool) -> Any:
    centred = _centred(x, axes)
    if free > 0 or (free < 0 and not whole):
        return _along(t, (2 / free) * centred, axes)
    undefined = jnp.where(centred == 0, jnp.nan, jnp.inf).astype(x.dtype)
    return _along(t, undefined if whole else centred * jnp.inf, axes)


@derivative(_var_derivative)
def _var(x: jax.Array, *, axes: Any, free: float, whole: bool) -> jax.Array:
    del whole
    centred = _centred(x, axes)
    total = jnp.sum(jnp.real(centred * jnp.conj(centred)), axes, keepdims=True)
    return total / builtins.max(0, free)


def _std_derivative(t: Any, std: Any, x: Any, **options: Any) -> Any:
    part = _var_derivative(t, None, x, **options)
    # Both masked, as the product is in torch: the second derivative at 0 is 0 too.
    return jnp.where(std == 0, 0, part * jnp.where(std == 0, 0, 1 / (2 * std)))


@derivative(_std_derivative)
def _std(x: jax.Array, **options: Any) -> jax.Array:
    return jnp.sqrt(_var(x, **options))


def amax(input: jax.Array, dim: Dim = None, keepdim: bool = False) -> jax.Array:
    """The largest over some dims, or of all; ties share the gradient.

    Raises:
        RuntimeError: The input is empty and there is no dim.
        IndexError: A dim is empty.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(amax)(jnp.array([1.0, 2.0, 2.0])))
        [0.  0.5 0.5]

    Torch: `torch.amax`.
    """
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

    Torch: `torch.amin`.
    """
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

    Torch: `torch.max`.

    Differs from jax in:
        1. Along a dim the first of a tie has the gradient (`jnp.max`: shared).
        2. A NaN has the gradient (`jnp.max`: all are NaN).
    """
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

    Torch: `torch.min`.

    Differs from jax in:
        1. Along a dim the first of a tie has the gradient (`jnp.min`: shared).
        2. A NaN has the gradient (`jnp.min`: all are NaN).
    """
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


def logsumexp(input: jax.Array, dim: Dim, keepdim: bool = False) -> jax.Array:
    """The logarithm of the sum of exponentials over some dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(logsumexp(jnp.zeros(2), 0).round(4))
        0.6931

    Torch: `torch.logsumexp`.
    """
    input = array(input)
    axes = canonical_dims(dim, input.ndim)

    def total(x: jax.Array) -> jax.Array:
        out = _logsumexp(x, axes=axes)
        return out if keepdim else jnp.squeeze(out, axes)

    return in_opmath(total, input)


@derivative(
    lambda t, out, x, axes: jnp.sum(t * jnp.exp(x - out), axes, keepdims=True),
)
def _logsumexp(x: jax.Array, *, axes: Any) -> jax.Array:
    if not x.size:
        return jnp.log(jnp.sum(jnp.exp(x), axes, keepdims=True))
    high = jnp.max(jnp.real(x), axes, keepdims=True)
    high = jnp.where(jnp.isinf(high), 0, high)
    return jnp.log(jnp.sum(jnp.exp(x - high), axes, keepdims=True)) + high


def all(input: jax.Array, dim: Dim = None, keepdim: bool = False) -> jax.Array:
    """Whether every element over some dims is not 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(all(jnp.array([True, False])))
        False

    Torch: `torch.all`.
    """
    return _logical(jnp.all, input, dim, keepdim)


def any(input: jax.Array, dim: Dim = None, keepdim: bool = False) -> jax.Array:
    """Whether an element over some dims is not 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(any(jnp.array([True, False])))
        True

    Torch: `torch.any`.
    """
    return _logical(jnp.any, input, dim, keepdim)


def _logical(fun: Any, input: Any, dim: Dim, keepdim: bool) -> jax.Array:
    input = array(input)
    axes = canonical_dims(dim, input.ndim, empty_is_all=False)
    found = fun(input != 0, axes, keepdims=keepdim)
    return found.astype(jnp.uint8) if input.dtype == jnp.uint8 else found


def count_nonzero(input: jax.Array, dim: Dim = None) -> jax.Array:
    """How many elements over some dims are not 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(count_nonzero(jnp.array([1.0, 0.0])))
        1

    Torch: `torch.count_nonzero`.
    """
    input = array(input)
    return jnp.sum(input != 0, canonical_dims(dim, input.ndim)).astype(int)
