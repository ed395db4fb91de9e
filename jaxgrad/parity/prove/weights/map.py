"""The weight map, which says how each element of a JAX leaf is computed from torch's tensors.

Most leaves are sums of scaled tensor elements (pieces), and most of these only rearrange a tensor.
A rule describes the leaves that a converter computes in another way, with their derivative. The map
converts weights from torch to JAX, and gradients back with the transpose of its derivative.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np


Tensors = Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Piece:
    """A region of a leaf, with the index of each element in a torch tensor."""

    leaf: int
    region: tuple[slice, ...]
    name: str
    index: np.ndarray  # into the flattened tensor
    offset: float | np.ndarray = 0.0  # the leaf holds the tensor plus this number
    guessed: bool = False  # whether it was matched by name only
    scale: float | np.ndarray = 1.0  # the leaf holds the tensor times this number, 0 for no element

    def take(self, tensor: np.ndarray) -> np.ndarray:
        """Return the region's values, given the torch tensor."""
        values = tensor.ravel()[self.index] if self.steps is None else self.view(tensor.ravel())
        values = values if _is_one(self.scale) else values * self.scale
        return values if np.ndim(self.offset) == 0 and not self.offset else values + self.offset

    @functools.cached_property
    def steps(self) -> tuple[int, ...] | None:
        """The distance of the indices along each axis, None if they are not evenly spaced."""
        if not self.index.size:
            return None
        steps = steps_of(self.index)
        even = self.index[(0,) * self.index.ndim]
        for step, n in zip(steps, self.index.shape, strict=True):
            even = np.add.outer(even, step * np.arange(n, dtype=self.index.dtype))
        return steps if np.array_equal(even, self.index) else None

    @property
    def once(self) -> bool:
        """Whether the indices are evenly spaced and surely differ from each other."""
        if self.steps is None:
            return False
        reach = 0
        pairs = zip(map(abs, self.steps), self.index.shape, strict=True)
        for step, n in sorted(pairs):
            if n > 1 and step <= reach:
                return False
            reach += step * (n - 1)
        return True

    def order(self, size: int) -> tuple[int, ...] | None:
        """Return the order of axes that turns the region into a tensor of `size` elements.

        None if there is none.
        """
        if not self.once or self.index.size != size or np.ndim(self.scale):
            return None
        steps = self.steps or ()
        return None if min(steps, default=0) < 0 else tuple(np.argsort([-s for s in steps]))

    def view(self, flat: np.ndarray) -> np.ndarray:
        """Return the region's elements of a flattened tensor as a view, for even `steps`."""
        assert self.steps is not None
        rest = flat[int(self.index[(0,) * self.index.ndim]) :]
        strides = [step * flat.itemsize for step in self.steps]
        return np.lib.stride_tricks.as_strided(rest, self.index.shape, strides)

    @functools.cached_property
    def used(self) -> np.ndarray:
        """The indices of the tensor elements that the region contains."""
        if np.ndim(self.scale) == 0:
            return self.index.ravel()
        return self.index[np.asarray(self.scale) != 0]


@dataclasses.dataclass(frozen=True)
class ConversionRule:
    """Leaves that a converter computes from torch's tensors, with the transposed derivative."""

    names: Mapping[int, tuple[str, ...]]  # leaf -> the tensors that it depends on
    convert: Callable[[Tensors], Mapping[int, np.ndarray]]
    transpose: Callable[[Tensors, Mapping[int, np.ndarray]], Tensors]  # at these tensors


@dataclasses.dataclass(frozen=True)
class WeightMap:
    """All pieces and the rule, with the leaves of the user's params and torch's tensors."""

    pieces: tuple[Piece, ...]
    leaves: tuple[np.ndarray, ...]
    tensors: Tensors
    paths: tuple[str, ...]
    rule: ConversionRule | None = None

    def to_jax(self, tensors: Tensors) -> list[np.ndarray]:
        """Return the leaves that hold these torch tensors."""
        count = collections.Counter(piece.leaf for piece in self.pieces)
        out, sums = list(self.leaves), set[int]()
        for piece in self.pieces:
            leaf, values = out[piece.leaf], piece.take(np.asarray(tensors[piece.name]))
            if count[piece.leaf] == 1 and values.shape == leaf.shape:
                out[piece.leaf] = np.asarray(values, leaf.dtype)  # perhaps a view of the tensor
                continue
            if piece.leaf not in sums:
                sums.add(piece.leaf)
                leaf = out[piece.leaf] = np.zeros(leaf.shape, leaf.dtype)
            leaf[piece.region] += values
        if self.rule is not None:
            for leaf, x in self.rule.convert({**self.tensors, **tensors}).items():
                out[leaf] = x
        return out

    def to_torch(
        self, grads: Sequence[np.ndarray | None], at: Tensors | None = None
    ) -> dict[str, np.ndarray | None]:
        """Convert the gradients of the leaves into gradients of the torch tensors.

        A rule that is not linear is differentiated at the tensors `at`. The gradient of a tensor is
        None if none of its leaves has one.
        """
        totals: dict[str, np.ndarray | None] = dict.fromkeys(self.shapes)
        sizes = {name: math.prod(shape) for name, shape in self.shapes.items()}
        count = collections.Counter(piece.name for piece in self.pieces)
        for piece in self.pieces:
            grad = grads[piece.leaf]
            if grad is None:
                continue
            total = totals[piece.name]
            if count[piece.name] == 1 and (order := piece.order(sizes[piece.name])):
                part = np.asarray(grad)[piece.region].transpose(order)
                totals[piece.name] = part if _is_one(piece.scale) else part * piece.scale
                continue
            if total is None:
                total = np.zeros(sizes[piece.name], np.asarray(grad).dtype)
            part = np.asarray(grad)[piece.region]
            part = part if _is_one(piece.scale) else part * piece.scale
            if piece.once:
                view = piece.view(total)
                view += part
            else:
                np.add.at(total, piece.index.ravel(), part.ravel())
            totals[piece.name] = total
        for name, part in self._transposed(grads, at or {}).items():
            total = totals[name]
            totals[name] = part.ravel() if total is None else total.ravel() + part.ravel()
        return {
            name: None if g is None else g.reshape(self.shapes[name]) for name, g in totals.items()
        }

    def _transposed(self, grads: Sequence[np.ndarray | None], at: Tensors) -> Tensors:
        """Return the rule's part of the tensors' gradients."""
        if self.rule is None:
            return {}
        given = {leaf: g for leaf in self.rule.names if (g := grads[leaf]) is not None}
        reached = {name for leaf in given for name in self.rule.names[leaf]}
        parts = self.rule.transpose({**self.tensors, **at}, given) if given else {}
        return {name: parts[name] for name in self.tensors if name in reached}

    def values_of(self, leaves: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the torch tensors that these leaves hold, except those in `merged`."""
        values: dict[str, np.ndarray] = {}
        for piece in self.pieces:
            if piece.name in self.merged:
                continue
            x = np.asarray(leaves[piece.leaf])
            if piece.name not in values:
                values[piece.name] = np.array(self.tensors[piece.name], x.dtype).ravel()
            held, scale = _held(piece), np.broadcast_to(piece.scale, piece.index.shape)
            restored = (x[piece.region] - piece.offset)[held] / scale[held]
            values[piece.name][piece.index[held]] = restored
        return {name: x.reshape(self.shapes[name]) for name, x in values.items()}

    @functools.cached_property
    def merged(self) -> dict[str, str]:
        """Why a tensor cannot be restored from the leaves, for each tensor that cannot."""
        reasons: dict[str, str] = {}
        count = collections.Counter(piece.leaf for piece in self.pieces)
        shared = [piece for piece in self.pieces if count[piece.leaf] > 1]
        terms = {piece.leaf: np.zeros(self.leaves[piece.leaf].shape, int) for piece in shared}
        for piece in shared:
            terms[piece.leaf][piece.region] += np.asarray(piece.scale) != 0
        for piece in shared:
            path = self.paths[piece.leaf]
            others = [name for name in self.names_of(piece.leaf) if name != piece.name]
            if np.any(terms[piece.leaf][piece.region][_held(piece)] > 1):
                with_ = f" with {', '.join(others[:3])}" if others else " with itself"
                reasons[piece.name] = f"leaf {path} adds it{with_}"
        if self.rule is not None:
            for leaf, names in self.rule.names.items():
                text = f"leaf {self.paths[leaf]} is computed from {', '.join(names[:4])}"
                reasons |= dict.fromkeys(names, text)
        return reasons

    @functools.cached_property
    def not_one_to_one(self) -> dict[str, str]:
        """Why an optimizer moves a tensor otherwise than its leaves, for each such tensor."""
        reasons = dict(self.merged)
        for piece in self.pieces:
            path, scale = self.paths[piece.leaf], np.abs(np.asarray(piece.scale))
            once = np.zeros(math.prod(self.shapes[piece.name]), bool)
            once[piece.used] = True
            if np.any((scale != 0) & (scale != 1)):
                reasons.setdefault(piece.name, f"leaf {path} holds a multiple of it")
            elif once.sum() < piece.used.size:
                reasons.setdefault(piece.name, f"leaf {path} repeats its elements")
        return reasons

    @functools.cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of torch's tensors."""
        return {name: x.shape for name, x in self.tensors.items()}

    @property
    def names(self) -> list[str]:
        """The torch tensors that some leaf holds or depends on."""
        return [name for name in self.tensors if self.leaves_of(name)]

    def leaves_of(self, name: str) -> list[int]:
        """Return the leaves that hold a torch tensor or some of its elements."""
        leaves = [p.leaf for p in self.pieces if p.name == name]
        if self.rule is not None:
            leaves += [leaf for leaf, names in self.rule.names.items() if name in names]
        return list(dict.fromkeys(leaves))

    def names_of(self, leaf: int) -> list[str]:
        """Return the torch tensors in a leaf."""
        names = [p.name for p in self.pieces if p.leaf == leaf]
        if self.rule is not None:
            names += self.rule.names.get(leaf, ())
        return list(dict.fromkeys(names))

    def place_of(self, name: str) -> str:
        """Describe the JAX paths of a torch tensor, for the report."""
        return ", ".join(self.paths[i] for i in self.leaves_of(name)) or "no leaf"

    def copy_of(self, name: str) -> str | None:
        """Return another torch tensor that has the same values and is stored in a leaf."""
        x = self.tensors.get(name)
        if x is None or x.size < 2 or np.all(x == x.flat[0]):
            return None
        for other, shape in self.shapes.items():
            same = other != name and shape == x.shape and self.leaves_of(other)
            if same and np.array_equal(x, self.tensors[other]):
                return other
        return None


def steps_of(index: np.ndarray) -> tuple[int, ...]:
    """Return the stride along each axis of evenly spaced indices."""
    origin = (0,) * index.ndim
    return tuple(
        int(index[(*origin[:a], 1, *origin[a + 1 :])] - index[origin]) if n > 1 else 0
        for a, n in enumerate(index.shape)
    )


def everything(x: np.ndarray) -> tuple[slice, ...]:
    """Return the region that covers a whole leaf."""
    return (slice(None),) * x.ndim


def _is_one(scale: Any) -> bool:
    return np.ndim(scale) == 0 and bool(scale == 1)


def _held(piece: Piece) -> np.ndarray:
    """Mark the elements of a piece's region that hold an element of its tensor."""
    return np.broadcast_to(np.asarray(piece.scale) != 0, piece.index.shape)
