"""What products share: torch's errors for shapes, halves that accumulate in float32."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import require_same_dtype


def check_inner_sizes(x: Array, y: Array) -> None:
    inside = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inside:
        if x.ndim == y.ndim == 1:
            raise RuntimeError(length_mismatch(x, y))
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({'x'.join(map(str, x.shape))} and {'x'.join(map(str, y.shape))})"
        )


def check_matrix_vector(x: Array, y: Array) -> None:
    if (x.ndim, y.ndim) != (2, 1):
        raise RuntimeError(f"vector + matrix @ vector expected, got {x.ndim}, {y.ndim}")
    if x.shape[1] != y.shape[0]:
        raise RuntimeError(
            f"size mismatch, got mat {'x'.join(map(str, x.shape))}, vec {y.shape[0]}"
        )


def matrix_batches(input: Any, mat2: Any, names: tuple[str, str]) -> tuple[Array, Array]:
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
    x, y = (array(z, what) for what, z in args.items())
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
    """The product of several, split where it is cheapest; of equal costs as torch does."""
    first, last = matrices[0], matrices[-1]
    sizes = [first.shape[0] if first.ndim == 2 else 1, *(x.shape[0] for x in matrices[1:])]
    sizes.append(last.shape[1] if last.ndim == 2 else 1)
    later = -1 if len(matrices) == 3 else 1  # of three torch splits after the second

    @functools.cache
    def cheapest(i: int, j: int) -> tuple[int, int]:
        """The cost of the product of those from i to j, and the last of its left part."""
        if i == j:
            return 0, i
        outside = sizes[i] * sizes[j + 1]

        def cost(k: int) -> int:
            return cheapest(i, k)[0] + cheapest(k + 1, j)[0] + outside * sizes[k + 1]

        split = min(range(i, j)[::later], key=cost)
        return cost(split), split

    def product(i: int, j: int) -> Array:
        if i == j:
            return matrices[i]
        split = cheapest(i, j)[1]
        return jnp.matmul(product(i, split), product(split + 1, j))

    return product(0, len(matrices) - 1)
