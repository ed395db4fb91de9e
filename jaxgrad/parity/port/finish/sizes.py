"""Find the sizes of a port's inputs that may change: it then runs with a symbol in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax import export

from jaxgrad._core.typing import PyTree


MOST = 16  # runs of the port
Place = tuple[int, int]  # the number of an input, and one of its dims


def symbolic(inputs: PyTree, runs: Callable[[PyTree], bool]) -> PyTree:
    """Return the shapes of the inputs, with a symbol for each size that may change.

    Args:
        inputs: Arrays.
        runs: Whether the port runs on inputs of given shapes.
    """
    leaves, tree = jax.tree.flatten(inputs)

    def structs(chosen: dict[Place, str]) -> PyTree:
        return jax.tree.unflatten(tree, list(_structs(leaves, chosen)))

    chosen: dict[Place, str] = {}
    tries = 0
    for groups in _candidates(leaves):
        for group in groups:
            fresh = [place for place in group if place not in chosen]
            if not fresh or tries == MOST:
                break
            tries += 1
            label = next((chosen[p] for p in group if p in chosen), f"s{len(set(chosen.values()))}")
            more = chosen | dict.fromkeys(fresh, label)
            if runs(structs(more)):
                chosen = more
                break
    return structs(chosen)


def _candidates(leaves: list[np.ndarray]) -> Iterator[list[list[Place]]]:
    """Yield the places that may have one symbol: all first sizes, then each size alone or tied."""
    places = [(n, d) for n, x in enumerate(leaves) for d in range(x.ndim) if x.shape[d] > 1]
    if not places:
        return
    size = {(n, d): leaves[n].shape[d] for n, d in places}
    first = next((p for p in places if p[1] == 0), None)
    if first is not None:
        yield [[p for p in places if p[1] == 0 and size[p] == size[first]]]
    for place in places:
        alike = [p for p in places if size[p] == size[place]]
        yield [[place], [p for p in alike if p[1] == place[1]], alike]


def _structs(leaves: list[np.ndarray], chosen: dict[Place, str]) -> Iterator[Any]:
    labels = sorted(set(chosen.values()))
    least = {chosen[n, d]: leaves[n].shape[d] for n, d in chosen}
    bounds = [f"{label} >= {least[label]}" for label in labels]  # no branch for a smaller size
    made = export.symbolic_shape(", ".join(labels), constraints=bounds) if labels else ()
    symbols = dict(zip(labels, made, strict=True))
    for n, x in enumerate(leaves):
        shape = tuple(
            symbols[chosen[n, d]] if (n, d) in chosen else size for d, size in enumerate(x.shape)
        )
        yield jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(x.dtype))
