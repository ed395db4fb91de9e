"""What normalisations share: standard scores, channels, weights, torch's errors."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import DEFAULT, HALF, in_opmath, is_floating


def standardize(x: Array, dims: tuple[int, ...], eps: float) -> Array:
    centred = x - jnp.mean(x, dims, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred * centred, dims, keepdims=True) + eps)


def apply_affine(fun, input: Array, *parameters: Array | None) -> Array:
    """`fun(input, weight, bias)` in the kernels' dtype, rounded to the input's."""
    weight, bias = (*parameters, None, None)[:2]
    given = [x for x in (weight, bias) if x is not None]

    def filled(x: Array, *rest: Array) -> Array:
        found = iter(rest)
        one, zero = jnp.ones((), x.dtype), jnp.zeros((), x.dtype)
        w = one if weight is None else next(found)
        return fun(x, w, zero if bias is None else next(found))

    return in_opmath(filled, input, *given).astype(input.dtype)


def per_channel(x: Array, like: Array) -> Array:
    return x.reshape(-1, *[1] * (like.ndim - 2)) if x.ndim else x


def reject_single_value(shape: Sequence[int]) -> None:
    raise ValueError(
        "Expected more than 1 value per channel when training, got input size "
        f"{list(shape)}; use a larger batch"
    )


def check_channels(input: Array, channels: int, **given: Array | None) -> None:
    for name, x in given.items():
        if x is not None and x.shape != (channels,):
            raise RuntimeError(
                f"{name} should contain {channels} elements not {x.size}: it has the shape "
                f"{list(x.shape)}, the input {list(input.shape)}"
            )


def check_dtypes(name: str, input: Array, *given: Array | None) -> None:
    if not is_floating(input):
        raise NotImplementedError(
            f"{name} is not implemented for {input.dtype}; convert the input to a float"
        )
    for x in given:
        mixed = input.dtype in HALF and x is not None and x.dtype == DEFAULT
        if x is not None and x.dtype != input.dtype and not mixed:
            raise RuntimeError(
                f"mixed dtype: the input is {input.dtype} and a parameter {x.dtype}; only float16 "
                "and bfloat16 go with float32 parameters"
            )
