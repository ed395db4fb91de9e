"""Read torch's optimizer state for the leaves of a port through its weight map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxgrad._core import paths
from jaxgrad._core.copies import copy_to_numpy
from jaxgrad._core.typing import PyTree
from jaxgrad.optim._core.counterparts import TorchOptimizer


class ByMap:
    """torch's optimizer state by the leaves of a `jaxgrad.parity.WeightMap`."""

    def __init__(self, weights: Any, optimizer: TorchOptimizer, params: PyTree):
        self.optimizer = optimizer
        names = optimizer.names or _assumed(weights, optimizer)
        self._check_names(weights, names)
        self.weights, self.paths = weights, paths.by_keys(params)
        states = (optimizer.state_dict["state"].get(i, {}) for i in optimizer.indices)
        entries = dict(zip(names, states, strict=True))
        self.entries = {weights.tied.get(name, name): entry for name, entry in entries.items()}
        self._leaves: dict[tuple[str, int], dict[str, np.ndarray]] = {}

    def entry(self, keys: Any) -> Mapping[str, Any]:
        """Return torch's state of the parameters that the leaf at a key path holds.

        Raises:
            ValueError: Several parameters are held, and their numbers of steps differ.
        """
        leaf = self._leaf(keys)
        held = (block.tensor for block in self.weights.blocks if block.leaf == leaf)
        entries = {name: self.entries[name] for name in held if name in self.entries}
        steps = {n: float(copy_to_numpy(e.get("step", 0))) for n, e in entries.items()}
        first = next(iter(steps), "")
        for name, step in steps.items():
            if step != steps[first]:
                raise ValueError(
                    f"the leaf {leaf!r} holds torch's {first!r} and {name!r}, which have taken "
                    f"{steps[first]:g} and {step:g} steps: one leaf has one number of steps"
                )
        return entries.get(first, {})

    def read(self, field: str, power: int, keys: Any) -> np.ndarray | None:
        """Return torch's moment for the leaf at a key path, or None if torch has none."""
        if (field, power) not in self._leaves:
            held = {n: e[field] for n, e in self.entries.items() if e.get(field) is not None}
            moments = {name: copy_to_numpy(x) for name, x in held.items()}
            for name, x in moments.items():
                self._check_shape(field, name, x)
            self._leaves[field, power] = self.weights.moments_to_jax(moments, power)
        return self._leaves[field, power].get(self._leaf(keys))

    def _check_shape(self, field: str, name: str, moment: np.ndarray) -> None:
        shape = tuple(self.weights.tensors.get(name, moment.shape))
        if moment.shape == shape:
            return
        text = f"torch's {field} of {name!r} has shape {moment.shape}, but {name!r} has {shape}"
        if not self.optimizer.names and moment.shape in map(tuple, self.weights.tensors.values()):
            raise ValueError(
                f"{text}. The optimizer stores no names, so its parameters were taken in the order "
                f"of model.parameters() ({', '.join(self.weights.parameters[:4])}, ...), which is "
                f"not its own: {self.optimizer.remedy('names, ')}"
            )
        raise ValueError(f"{text}: only moments of the parameter's shape can be converted")

    def _check_names(self, weights: Any, names: Any) -> None:
        known = list(dict.fromkeys([*weights.tensors, *weights.tied, *weights.parameters]))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(
                f"torch's optimizer has the parameter {unknown[0]!r}, which is not in the weight "
                f"map. {paths.nearest(known, unknown[:1], 'names')}"
            )

    def _leaf(self, keys: Any) -> str:
        leaf = self.paths.get(tuple(keys), paths.text(keys))
        if leaf not in self.weights.leaves:
            raise ValueError(
                f"{leaf!r} is not in the weight map. "
                f"{paths.nearest(list(self.weights.leaves), [leaf])}"
            )
        return leaf


def _assumed(weights: Any, optimizer: TorchOptimizer) -> tuple[str, ...]:
    """Return the parameter names of an optimizer with one group that stores no names.

    Its parameters are assumed to be in the order of `model.parameters()`.
    """
    names, count = tuple(weights.parameters), len(optimizer.indices)
    if len(optimizer.groups) > 1:
        raise ValueError(
            f"torch's optimizer has {optimizer.sizes} and stores no names, so it is not known "
            f"which moment belongs to which parameter: {optimizer.remedy('names, ')}"
        )
    if len(names) != count:
        raise ValueError(
            f"torch's optimizer has {count} parameters and stores no names, but the module has "
            f"{len(names)}: {optimizer.remedy('names, ')}"
        )
    return names
