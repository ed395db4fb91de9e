"""Read torch's optimizer state for the leaves of a port through its weight map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad.optim._core.counterparts import indices_of


class ByMap:
    """torch's optimizer state by the leaves of a `jaxgrad.parity.WeightMap`."""

    def __init__(self, weights: Any, state_dict: Mapping[str, Any], order: Sequence[str] | None):
        groups, indices = state_dict["param_groups"], indices_of(state_dict)
        stored = [name for group in groups for name in group.get("param_names", ())]
        names = order or stored or weights.parameters
        if len(names) != len(indices):
            raise ValueError(
                f"torch's optimizer has {len(indices)} parameters, but the module has "
                f"{len(names)}: pass order= with the names of the optimizer's parameters"
            )
        self.weights = weights
        entries = dict(zip(names, (state_dict["state"].get(i, {}) for i in indices), strict=True))
        self.entries = {weights.tied.get(name, name): entry for name, entry in entries.items()}
        self._leaves: dict[tuple[str, int], dict[str, np.ndarray]] = {}

    def entry(self, path: Any) -> Mapping[str, Any]:
        """Return torch's state of a parameter that the leaf at a path holds."""
        leaf = self._leaf(path)
        held = (block.tensor for block in self.weights.blocks if block.leaf == leaf)
        return next((self.entries[name] for name in held if self.entries.get(name)), {})

    def read(self, field: str, power: int, path: Any) -> np.ndarray | None:
        """Return torch's moment for the leaf at a path, or None if torch has none."""
        if (field, power) not in self._leaves:
            held = {n: e[field] for n, e in self.entries.items() if e.get(field) is not None}
            moments = {name: copy_to_numpy(x) for name, x in held.items()}
            shapes = self.weights.tensors
            wrong = [n for n, x in moments.items() if x.shape != tuple(shapes.get(n, x.shape))]
            if wrong:
                raise ValueError(
                    f"torch's {field} of {wrong[0]!r} has shape {list(moments[wrong[0]].shape)}, "
                    "which is not the parameter's: only moments of its shape can be converted"
                )
            self._leaves[field, power] = self.weights.moments_to_jax(moments, power)
        return self._leaves[field, power].get(self._leaf(path))

    def _leaf(self, path: Any) -> str:
        leaf = jax.tree_util.keystr(path, simple=True, separator="/").removesuffix("/value")
        if leaf not in self.weights.leaves:
            raise ValueError(
                f"{jax.tree_util.keystr(path)} is not in the weight map, whose leaves are "
                f"{list(self.weights.leaves)}"
            )
        return leaf
