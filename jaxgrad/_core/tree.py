"""Small questions about trees and their leaves; `None` is a leaf: "no gradient"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp


def is_none(x: Any) -> bool:
    return x is None


def map_none(fun: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """`jax.tree_util.tree_map_with_path` in which a `None` is a leaf and reaches `fun`."""

    def named(path: Any, *leaves: Any) -> Any:
        return fun(jax.tree_util.keystr(path), *leaves)

    return jax.tree_util.tree_map_with_path(named, tree, *rest, is_leaf=is_none)


def is_array(x: Any) -> bool:
    """Whether JAX can trace `x`: an array, a tracer, or a Python or numpy number."""
    try:
        jax.typeof(x)
    except TypeError:
        return False
    return True


def is_inexact(x: Any) -> bool:
    """Whether `x` is a real or complex floating point array or number."""
    return is_array(x) and jnp.issubdtype(jnp.result_type(x), jnp.inexact)


def kind(x: Any) -> str:
    """What to call a leaf in an error: its dtype, or its type."""
    return str(jnp.result_type(x)) if is_array(x) else type(x).__name__


def named(tree: Any) -> list[tuple[str, Any]]:
    """The leaves, each with a readable name: `['layer']['w']`."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return [(jax.tree_util.keystr(path), x) for path, x in leaves]


def partition(mask: Sequence[bool], values: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """The values where `mask`, and the others."""
    pairs = list(zip(mask, values, strict=True))
    return [x for m, x in pairs if m], [x for m, x in pairs if not m]


def merge(mask: Sequence[bool], chosen: Iterable[Any], rest: Iterable[Any]) -> list[Any]:
    """Undo `partition`."""
    a, b = iter(chosen), iter(rest)
    return [next(a) if m else next(b) for m in mask]
