"""Copy pytrees between numpy, torch and JAX; no copy shares memory with its source."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from jaxgrad._core.copies import BIT_VIEWS, copy_to_numpy
from jaxgrad._core.typing import DTypeLike, PyTree
from jaxgrad.parity.ulp import is_inexact_dtype


def map_leaves(fun: Callable[[Any], Any], tree: PyTree) -> PyTree:
    """Apply `fun` to every leaf; dicts, lists, tuples and named tuples keep their type."""
    if isinstance(tree, Mapping):
        return {key: map_leaves(fun, value) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_leaves(fun, value) for value in tree))
    if isinstance(tree, list | tuple):
        return type(tree)(map_leaves(fun, value) for value in tree)
    return fun(tree)


def cast(tree: PyTree, dtype: DTypeLike) -> PyTree:
    """Cast floating leaves to `dtype` and complex ones to its complex counterpart."""
    dtype = np.dtype(dtype)
    partner = np.dtype(np.complex128 if dtype == np.float64 else np.complex64)

    def leaf(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or not is_inexact_dtype(x.dtype):
            return x
        return x.astype(partner if x.dtype.kind == "c" else dtype)

    return map_leaves(leaf, tree)


def to_torch(tree: PyTree) -> PyTree:
    """Copy numpy leaves to torch tensors; other leaves (str, int, None) stay as they are."""
    import torch

    def leaf(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        if x.dtype.name in BIT_VIEWS:
            bits = torch.tensor(np.array(x, order="C").view(np.int16))
            return bits.view(getattr(torch, x.dtype.name))
        return torch.tensor(x)

    return map_leaves(leaf, tree)


def to_jax(tree: PyTree) -> PyTree:
    """Copy numpy leaves to JAX arrays; other leaves (str, int, None) stay as they are.

    Raises:
        ValueError: JAX would silently convert a 64-bit leaf to 32 bits.
    """

    def leaf(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        out = jax.device_put(x.copy())  # `jnp.array` compiles a program for each shape
        if out.dtype != x.dtype:
            raise ValueError(
                f"{x.dtype} was asked for, but JAX would give {out.dtype} because 64-bit values "
                'are switched off; call jax.config.update("jax_enable_x64", True) before the '
                "first array is created, or set JAX_ENABLE_X64=1"
            )
        return out

    return map_leaves(leaf, tree)


def to_numpy(tree: PyTree) -> PyTree:
    """Copy torch and JAX leaves to numpy arrays; other leaves stay as they are."""
    return map_leaves(copy_to_numpy, tree)
