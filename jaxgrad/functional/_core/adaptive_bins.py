"""Adaptive bins: torch's division of a dim into any number of bins, and averages over them."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath, require_floating
from jaxgrad.functional._core.windows import batched, sizes, whole_numbers


OutputSize = int | Sequence[int | None]


def bins(size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each bin's indices, padded to `(count, largest)`, and a mask of the valid ones."""
    begin = np.arange(count) * size // max(count, 1)
    end = -(-(np.arange(count) + 1) * size // max(count, 1))
    members = begin[:, None] + np.arange(max(end - begin, default=1))
    return np.minimum(members, max(size - 1, 0)), members < end[:, None]


def bin_arguments(
    name: str, spatial: int, input: Array, output_size: OutputSize
) -> tuple[Array, bool, tuple[int, ...]]:
    """Return the batched input, whether it had a batch dim, and the number of bins per dim."""
    x, had_batch = batched(input, spatial, name)
    single = isinstance(output_size, int | np.integer)
    counts = (output_size,) if single else whole_numbers(output_size, "output_size")
    counts = counts * spatial if len(counts) == 1 else counts
    kept = [n if c is None else c for c, n in zip(counts, x.shape[2:], strict=False)]
    wanted = sizes(kept if len(counts) == spatial else [0] * len(counts), spatial, "output_size")
    if min(wanted) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{list(wanted)}"
        )
    if 0 in x.shape[1:]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
            f"has sizes {list(x.shape)}"
        )
    return x, had_batch, wanted


def adaptive_average(spatial: int, input: Array, output_size: OutputSize) -> Array:
    """Average the input over adaptive bins of its last `spatial` dims."""
    name = f"adaptive_avg_pool{spatial}d"
    x, had_batch, wanted = bin_arguments(name, spatial, require_floating(input, name), output_size)

    def averaged(x: Array) -> Array:
        for axis, count in enumerate(wanted, start=2):
            members, there = bins(x.shape[axis], count)
            tail = [1] * (x.ndim - axis - 1)
            values = jnp.take(x, members, axis)
            total = jnp.where(there.reshape(*there.shape, *tail), values, 0).sum(axis + 1)
            x = total / jnp.asarray(there.sum(1).reshape(-1, *tail), x.dtype)
        return x

    y = in_opmath(averaged, x)
    return y if had_batch else y[0]
