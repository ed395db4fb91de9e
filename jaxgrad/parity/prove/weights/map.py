"""The weight map, which says from which torch tensor element each JAX leaf element comes.

It converts weights from torch to JAX, and gradients back. The module `infer` infers the map from
the values, and `given` reads a map that the user wrote.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Piece:
    """A region of a leaf, with the index of each element in a torch tensor."""

    leaf: int
    region: tuple[slice, ...]
    name: str
    index: np.ndarray  # into the flattened tensor
    offset: float = 0.0  # the leaf holds the tensor plus this number
    guessed: bool = False  # whether it was matched by name only

    def take(self, tensor: np.ndarray) -> np.ndarray:
        """Return the region's values, given the torch tensor."""
        return tensor.ravel()[self.index] + self.offset


@dataclasses.dataclass(frozen=True)
class WeightMap:
    """All pieces, with the leaves of the user's params and torch's tensors."""

    pieces: tuple[Piece, ...]
    leaves: tuple[np.ndarray, ...]
    tensors: Mapping[str, np.ndarray]
    paths: tuple[str, ...]

    def to_jax(self, tensors: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return the leaves that hold these torch tensors."""
        mapped = {piece.leaf for piece in self.pieces}
        out = [np.zeros_like(x) if i in mapped else x for i, x in enumerate(self.leaves)]
        for piece in self.pieces:
            out[piece.leaf][piece.region] += piece.take(np.asarray(tensors[piece.name]))
        return out

    def to_torch(self, grads: Sequence[np.ndarray | None]) -> dict[str, np.ndarray | None]:
        """Convert the gradients of the leaves into gradients of the torch tensors.

        The gradient of a tensor is None if none of its leaves has one.
        """
        totals: dict[str, np.ndarray | None] = dict.fromkeys(self.tensors)
        for piece in self.pieces:
            grad = grads[piece.leaf]
            if grad is None:
                continue
            total = totals[piece.name]
            if total is None:
                total = np.zeros(self.tensors[piece.name].size, np.asarray(grad).dtype)
            np.add.at(total, piece.index.ravel(), np.asarray(grad)[piece.region].ravel())
            totals[piece.name] = total
        return {
            name: None if g is None else g.reshape(self.tensors[name].shape)
            for name, g in totals.items()
        }

    def values_of(self, leaves: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the torch tensors that these leaves hold, except those in a leaf that is a sum."""
        values: dict[str, np.ndarray] = {}
        for piece in self.pieces:
            terms = [p for p in self.pieces if p.leaf == piece.leaf and p.region == piece.region]
            if len(terms) > 1:
                continue
            x = np.asarray(leaves[piece.leaf])
            if piece.name not in values:
                values[piece.name] = np.array(self.tensors[piece.name], x.dtype).ravel()
            values[piece.name][piece.index.ravel()] = x[piece.region].ravel() - piece.offset
        return {name: x.reshape(self.tensors[name].shape) for name, x in values.items()}

    def leaves_of(self, name: str) -> list[int]:
        """Return the leaves that hold a torch tensor or some of its elements."""
        return list(dict.fromkeys(p.leaf for p in self.pieces if p.name == name))

    def names_of(self, leaf: int) -> list[str]:
        """Return the torch tensors in a leaf."""
        return list(dict.fromkeys(p.name for p in self.pieces if p.leaf == leaf))

    def place_of(self, name: str) -> str:
        """Describe the JAX paths of a torch tensor, for the report."""
        return ", ".join(self.paths[i] for i in self.leaves_of(name)) or "no leaf"

    def copy_of(self, name: str) -> str | None:
        """Return another torch tensor that has the same values and is stored in a leaf."""
        x = self.tensors[name]
        for other, y in self.tensors.items():
            same = other != name and y.shape == x.shape and self.leaves_of(other)
            if same and np.array_equal(x, y) and x.size > 1 and np.any(x != x.flat[0]):
                return other
        return None


def everything(x: np.ndarray) -> tuple[slice, ...]:
    """Return the region that covers a whole leaf."""
    return (slice(None),) * x.ndim
