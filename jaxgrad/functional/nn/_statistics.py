"""Helpers for normalization: standardizing, applying weight and bias, and torch's checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import DEFAULT, HALF, in_opmath, is_floating


def standardize(x: Array, dims: tuple[int, ...], eps: float) -> Array:
    """Shift and scale `x` to zero mean and unit variance over the given dims."""
    centred = x - jnp.mean(x, dims, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred * centred, dims, keepdims=True) + eps)


def apply_affine(
    fun: Callable[..., Array], input: Array, weight: Array | None, bias: Array | None = None
) -> Array:
    """Call `fun(input, weight, bias)` as torch's kernels do, with default weight 1 and bias 0."""
    params = [x for x in (weight, bias) if x is not None]

    def with_defaults(x: Array, *rest: Array) -> Array:
        w = jnp.ones((), x.dtype) if weight is None else rest[0]
        return fun(x, w, jnp.zeros((), x.dtype) if bias is None else rest[-1])

    return in_opmath(with_defaults, input, *params).astype(input.dtype)


def per_channel(x: Array, like: Array) -> Array:
    """Reshape a `(C,)` array to broadcast along dim 1 of `like`; a 0-d array stays as it is."""
    return x.reshape(-1, *[1] * (like.ndim - 2)) if x.ndim else x


def normalize_channels(
    input: Array, dims: tuple[int, ...], weight: Array | None, bias: Array | None, eps: float
) -> Array:
    """Standardize over the given dims, then scale and shift each channel."""

    def fun(x: Array, w: Array, b: Array) -> Array:
        return standardize(x, dims, eps) * per_channel(w, x) + per_channel(b, x)

    return apply_affine(fun, input, weight, bias)


def reject_single_value(shape: Sequence[int]) -> None:
    """Raise torch's ValueError for a batch with one value per channel."""
    raise ValueError(
        "Expected more than 1 value per channel when training, got input size "
        f"{list(shape)}; use a larger batch"
    )


def check_channels(input: Array, **params: Array | None) -> None:
    """Raise RuntimeError for a parameter whose shape is not `(C,)`."""
    for name, x in params.items():
        if x is not None and x.shape != input.shape[1:2]:
            raise RuntimeError(
                f"{name} should contain {input.shape[1]} elements not {x.size}: it has the shape "
                f"{list(x.shape)}, the input {list(input.shape)}"
            )


def check_dtypes(name: str, input: Array, *params: Array | None) -> None:
    """Raise unless params have the input's floating dtype, or float32 for half-precision input."""
    if not is_floating(input):
        raise NotImplementedError(
            f"{name} is not implemented for {input.dtype}; convert the input to a float"
        )
    for x in params:
        mixed = input.dtype in HALF and x is not None and x.dtype == DEFAULT
        if x is not None and x.dtype != input.dtype and not mixed:
            raise RuntimeError(
                f"mixed dtype: the input is {input.dtype} and a parameter {x.dtype}; only float16 "
                "and bfloat16 go with float32 parameters"
            )
