"""Helpers for matrix products: torch's shape checks, and products of several matrices."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import require_same_dtype


def check_inner(x: Array, y: Array) -> None:
    """Raise RuntimeError unless the last dim of `x` matches the contracted dim of `y`."""
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inner:
        if x.ndim == y.ndim == 1:
            raise RuntimeError(length_mismatch(x, y))
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({'x'.join(map(str, x.shape))} and {'x'.join(map(str, y.shape))})"
        )


def check_mv(x: Array, y: Array) -> None:
    if (x.ndim, y.ndim) != (2, 1):
        raise RuntimeError(f"vector + matrix @ vector expected, got {x.ndim}, {y.ndim}")
    if x.shape[1] != y.shape[0]:
        raise RuntimeError(
            f"size mismatch, got mat {'x'.join(map(str, x.shape))}, vec {y.shape[0]}"
        )


def as_batches(input: Any, mat2: Any, names: tuple[str, str]) -> tuple[Array, Array]:
    x, y = array(input, names[0]), array(mat2, names[1])
    for name, z in zip(names, (x, y), strict=True):
        if z.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor, its shape is {list(z.shape)}")
    if y.shape[:2] != (x.shape[0], x.shape[2]):
        raise RuntimeError(
            f"Expected size for first two dimensions of {names[1]} tensor to be: "
            f"[{x.shape[0]}, {x.shape[2]}] but got: {list(y.shape[:2])}."
        )
    return x, y


def vector_pair(name: str, **args: Any) -> tuple[Array, Array]:
    x, y = (array(z, argument) for argument, z in args.items())
    if (x.ndim, y.ndim) != (1, 1):
        raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    require_same_dtype(name, **args)
    if x.shape != y.shape:
        raise RuntimeError(length_mismatch(x, y))
    return x, y


def length_mismatch(x: Array, y: Array) -> str:
    return (
        f"inconsistent tensor size, expected tensor [{x.size}] and src [{y.size}] to have the same "
        f"number of elements, but got {x.size} and {y.size} elements respectively"
    )


def chain_product(*matrices: Array) -> Array:
    """Multiply several matrices in the cheapest order, breaking ties as torch does."""
    first, last = matrices[0], matrices[-1]
    sizes = [first.shape[0] if first.ndim == 2 else 1, *(x.shape[0] for x in matrices[1:])]
    sizes.append(last.shape[1] if last.ndim == 2 else 1)
    direction = -1 if len(matrices) == 3 else 1  # at equal cost torch picks (A @ B) @ C

    @functools.cache
    def cheapest(i: int, j: int) -> tuple[int, int]:
        """Return the least cost of multiplying matrices i to j, and where the left factor ends."""
        if i == j:
            return 0, i
        result_size = sizes[i] * sizes[j + 1]

        def cost(k: int) -> int:
            return cheapest(i, k)[0] + cheapest(k + 1, j)[0] + result_size * sizes[k + 1]

        split = min(range(i, j)[::direction], key=cost)
        return cost(split), split

    def product(i: int, j: int) -> Array:
        if i == j:
            return matrices[i]
        split = cheapest(i, j)[1]
        return jnp.matmul(product(i, split), product(split + 1, j))

    return product(0, len(matrices) - 1)
