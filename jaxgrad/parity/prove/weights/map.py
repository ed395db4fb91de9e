"""Which element of which torch tensor stands in which element of which JAX leaf.

The map carries weights from torch to JAX and gradients back. It is inferred (`weights_infer`) or
written by the user (`weights_given`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Piece:
    """A region of a leaf, and for each of its elements which one of a torch tensor it is."""

    leaf: int
    region: tuple[slice, ...]
    name: str
    index: np.ndarray  # of the flat tensor
    offset: float = 0.0  # the leaf holds the tensor plus this
    guessed: bool = False  # by name alone

    def take(self, tensor: np.ndarray) -> np.ndarray:
        return tensor.ravel()[self.index] + self.offset


@dataclasses.dataclass(frozen=True)
class WeightMap:
    """Every piece, with the leaves of the user's params and torch's tensors."""

    pieces: tuple[Piece, ...]
    leaves: tuple[np.ndarray, ...]
    tensors: Mapping[str, np.ndarray]
    paths: tuple[str, ...]

    def to_jax(self, tensors: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The leaves that hold these torch tensors."""
        mapped = {piece.leaf for piece in self.pieces}
        out = [np.zeros_like(x) if i in mapped else x for i, x in enumerate(self.leaves)]
        for piece in self.pieces:
            out[piece.leaf][piece.region] += piece.take(np.asarray(tensors[piece.name]))
        return out

    def to_torch(self, grads: Sequence[np.ndarray | None]) -> dict[str, np.ndarray | None]:
        """Gradients of the leaves as gradients of the torch tensors, None where none came."""
        found: dict[str, np.ndarray | None] = dict.fromkeys(self.tensors)
        for piece in self.pieces:
            grad = grads[piece.leaf]
            if grad is None:
                continue
            total = found[piece.name]
            if total is None:
                total = np.zeros(self.tensors[piece.name].size, np.asarray(grad).dtype)
            np.add.at(total, piece.index.ravel(), np.asarray(grad)[piece.region].ravel())
            found[piece.name] = total
        return {
            name: None if g is None else g.reshape(self.tensors[name].shape)
            for name, g in found.items()
        }

    def values_of(self, leaves: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """The torch tensors that these leaves hold; a sum of two biases says nothing of either."""
        found: dict[str, np.ndarray] = {}
        for piece in self.pieces:
            beside = [p for p in self.pieces if p.leaf == piece.leaf and p.region == piece.region]
            if len(beside) > 1:
                continue
            x = np.asarray(leaves[piece.leaf])
            if piece.name not in found:
                found[piece.name] = np.array(self.tensors[piece.name], x.dtype).ravel()
            found[piece.name][piece.index.ravel()] = x[piece.region].ravel() - piece.offset
        return {name: x.reshape(self.tensors[name].shape) for name, x in found.items()}

    def leaves_of(self, name: str) -> list[int]:
        """Which leaves hold (a part of) a torch tensor."""
        return list(dict.fromkeys(p.leaf for p in self.pieces if p.name == name))

    def names_of(self, leaf: int) -> list[str]:
        return list(dict.fromkeys(p.name for p in self.pieces if p.leaf == leaf))

    def place_of(self, name: str) -> str:
        """The JAX paths of a torch tensor, for a person."""
        return ", ".join(self.paths[i] for i in self.leaves_of(name)) or "no leaf"


def everything(x: np.ndarray) -> tuple[slice, ...]:
    """The region that is all of a leaf."""
    return (slice(None),) * x.ndim
