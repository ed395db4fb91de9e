"""Match non-constant leaves with torch tensors by their values.

A leaf may be a torch tensor with its axes permuted, split or merged, a stack or a concatenation of
several, a slice of one, or the sum of two biases.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import fingerprint, print_distance
from jaxgrad.parity.prove.weights.layout import layout
from jaxgrad.parity.prove.weights.likeness import likeness
from jaxgrad.parity.prove.weights.map import Piece, everything


class ParamLeaf(NamedTuple):
    """An array leaf of the JAX parameters."""

    number: int
    path: str
    stored: np.ndarray  # a float32 array need not be widened

    @property
    def value(self) -> np.ndarray:
        """The value in float64."""
        return self.stored.astype(np.float64) if self.stored.dtype == np.float32 else self.stored

    @property
    def low(self) -> np.ndarray:
        """The value in float32."""
        return low(self.stored)


def without(leaves: Sequence[ParamLeaf], pieces: Sequence[Piece]) -> list[ParamLeaf]:
    """Return the leaves that no piece (a matched region) covers yet."""
    done = {piece.leaf for piece in pieces}
    return [leaf for leaf in leaves if leaf.number not in done]


class Tensors:
    """torch's tensors by name, with their float32 values and fingerprints."""

    def __init__(self, tensors: Mapping[str, np.ndarray]):
        self.exact = tensors
        self.low = {name: low(x) for name, x in tensors.items()}
        self.varied = [n for n, x in self.low.items() if varies(x)]
        self._prints: dict[str, np.ndarray] = {}

    def _print(self, name: str) -> np.ndarray:
        """Return a tensor's fingerprint, which reads the tensor several times."""
        if name not in self._prints:
            self._prints[name] = fingerprint(self.low[name])
        return self._prints[name]

    def first(self, x: np.ndarray, path: str, taken: AbstractSet[str]) -> str | None:
        """Return the tensor that `like` would list first, if it equals `x` element by element.

        That is faster to see than whether it has the values of `x` in another order.
        """
        names = [name for name in self.varied if self.low[name].size == x.size]
        best = min(names, key=_order(path, taken), default=None)
        return best if best is not None and np.array_equal(self.low[best], x) else None

    def like(self, x: np.ndarray, path: str, taken: AbstractSet[str] = frozenset()) -> list[str]:
        """Return the tensors with the values of `x`: those not yet `taken` first, then by name."""
        print_ = fingerprint(x)
        names = [
            name
            for name in self.varied
            if self.low[name].size == x.size and print_distance(self._print(name), print_) < 1e-12
        ]
        return sorted(names, key=_order(path, taken))


def _order(path: str, taken: AbstractSet[str]) -> Callable[[str], tuple[bool, float]]:
    return lambda name: (name in taken, -likeness(name, path))


def whole(tensors: Tensors, leaf: ParamLeaf, taken: AbstractSet[str]) -> list[Piece]:
    """Match a leaf that is one tensor with its axes rearranged.

    The leaf may hold the tensor plus or minus 1, as some ports store the scale of a norm. Tensors
    with equal values (a target network at the start) are assigned to different leaves.
    """
    x = leaf.low
    if not varies(x):
        return []
    for offset in (0.0,) if np.iscomplexobj(leaf.value) else (0.0, -1.0, 1.0):
        y = x if not offset else low(np.asarray(leaf.value, np.float64) - offset)
        first = tensors.first(y, leaf.path, taken)
        for name in [first] if first is not None else tensors.like(y, leaf.path, taken):
            index = layout(tensors.low[name], y)
            if index is not None:
                return [Piece(leaf.number, everything(x), name, index, offset)]
    return []


def chunks(tensors: Tensors, leaf: ParamLeaf) -> list[Piece]:
    """Match a leaf that stacks or concatenates whole tensors along one axis."""
    x = leaf.low
    if not x.size:
        return []
    sizes = sorted({t.size for t in tensors.low.values() if 0 < t.size < x.size}, reverse=True)
    for size, axis in itertools.product(sizes, range(x.ndim)):
        length, rest = divmod(x.shape[axis] * size, x.size)
        if rest or not length or x.shape[axis] % length:
            continue
        pieces: list[Piece] = []
        for start in range(0, x.shape[axis], length):
            full = everything(x)
            region = (*full[:axis], slice(start, start + length), *full[axis + 1 :])
            piece = _chunk(tensors, leaf, region, x[region], {p.name for p in pieces})
            if piece is None:
                break
            pieces.append(piece)
        else:
            return pieces
    return []


def _chunk(
    tensors: Tensors, leaf: ParamLeaf, region: tuple[slice, ...], x: np.ndarray, taken: set[str]
) -> Piece | None:
    if not varies(x):
        return None
    for name in tensors.like(x, leaf.path):
        index = layout(tensors.low[name], x) if name not in taken else None
        if index is not None:
            return Piece(leaf.number, region, name, index)
    return None


def slices(tensors: Tensors, leaf: ParamLeaf) -> list[Piece]:
    """Match a leaf that is one of several equal slices of a tensor along one axis."""
    x = leaf.low
    if not varies(x):
        return []
    wanted = fingerprint(x)
    for name in tensors.varied:
        t = tensors.low[name]
        if t.size <= x.size or t.size % x.size:
            continue
        count = t.size // x.size
        numbers = np.arange(t.size, dtype=np.int64).reshape(t.shape)
        for axis in [a for a in range(t.ndim) if t.shape[a] % count == 0]:
            pairs = zip(np.split(t, count, axis), np.split(numbers, count, axis), strict=True)
            for part, positions in pairs:
                index = (
                    layout(part, x) if print_distance(fingerprint(part), wanted) < 1e-12 else None
                )
                if index is not None:
                    return [Piece(leaf.number, everything(x), name, positions.ravel()[index])]
    return []


def sums(tensors: Tensors, leaf: ParamLeaf) -> list[Piece]:
    """Match a leaf that holds sums of two vectors, such as the two biases of a recurrent layer.

    A part of the leaf may hold one of them alone, as in equinox's GRU. The gates may be ordered
    differently, and elements may be 1 less or more.
    """
    if not 1 < leaf.value.size <= 2**17 or np.iscomplexobj(leaf.value) or not varies(leaf.low):
        return []
    x = np.asarray(leaf.value, np.float64)
    real = ((name, t) for name, t in tensors.exact.items() if not np.iscomplexobj(t))
    vectors = [name for name, t in real if t.ndim == 1 and t.size % x.size == 0]
    for names in itertools.combinations(vectors, 2):
        pair = [np.asarray(tensors.exact[name], np.float64) for name in names]
        if len(pair[0]) != len(pair[1]):
            continue
        terms = [pair[0] + pair[1], *pair]
        table = np.concatenate([term + offset for offset in (0, -1, 1) for term in terms])
        source = _nearest(table, x)
        if source is None:
            continue
        number, index = np.divmod(source, len(pair[0]))
        offset, kind = np.divmod(number, 3)
        if np.any(kind == 0):
            held = [(kind == 0) | (kind == 1), (kind == 0) | (kind == 2)]
            shift = np.choose(offset, [0.0, -1.0, 1.0])
            shifts = [np.where(held[0], shift, 0), np.where(held[0], 0, shift)]
            return [
                _part(leaf, name, index, *part)
                for name, *part in zip(names, held, shifts, strict=True)
                if part[0].any()
            ]
    return []


def _nearest(table: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """Return the index in `table` of each element of `x`, or None unless each occurs once."""
    order = np.argsort(table, kind="stable")
    ranked, tolerance = table[order], 1e-7 + 1e-6 * np.abs(x)

    def find(x: np.ndarray, tolerance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.searchsorted(ranked, x - tolerance), np.searchsorted(ranked, x + tolerance)

    sample = np.linspace(0, x.size - 1, 8).astype(int)
    first, last = find(x.flat[sample], tolerance.flat[sample])
    if np.any(first == last):
        return None
    first, last = find(x, tolerance)
    if np.any(first == last):
        return None
    at = np.clip(np.searchsorted(ranked, x), 1, len(ranked) - 1)
    nearest = np.where(np.abs(ranked[at - 1] - x) < np.abs(ranked[at] - x), at - 1, at)
    equal = np.searchsorted(ranked, ranked[nearest], "right") - np.searchsorted(
        ranked, ranked[nearest], "left"
    )
    return order[nearest] if np.all(equal == 1) else None


def _part(
    leaf: ParamLeaf, name: str, index: np.ndarray, held: np.ndarray, shift: np.ndarray
) -> Piece:
    """Return the piece for the marked elements of a leaf."""
    corners = [np.flatnonzero(np.any(held, axis=_others(held, a))) for a in range(held.ndim)]
    region = tuple(slice(int(c[0]), int(c[-1]) + 1) for c in corners)
    scale = 1.0 if held[region].all() else held[region].astype(np.float64)
    offset = shift[region] if shift.any() else 0.0
    return Piece(leaf.number, region, name, index[region], offset, scale=scale)


def lookup(tensors: Tensors, leaf: ParamLeaf) -> list[Piece]:
    """Match an arbitrary arrangement element by element, if the values are distinct enough."""
    x = leaf.low
    names = list(tensors.low)
    if not names or not varies(x):
        return []
    values = np.concatenate([tensors.low[n].ravel() for n in names])
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    first = np.searchsorted(ranked, x.ravel(), "left")
    last = np.searchsorted(ranked, x.ravel(), "right")
    if np.any(first == last):
        return []  # an element is in no tensor
    source = order[first].reshape(x.shape)
    source, ambiguous = _consistent(source, (last - first > 1).reshape(x.shape), values, x)
    source = _distinct(source, ambiguous, order, first, last)
    ends = np.cumsum([tensors.low[n].size for n in names])
    owner = np.searchsorted(ends, source, "right")
    pieces = []
    for number in np.unique(owner):
        mask = owner == number
        corners = [np.flatnonzero(np.any(mask, axis=_others(mask, a))) for a in range(x.ndim)]
        region = tuple(slice(int(c[0]), int(c[-1]) + 1) for c in corners)
        if not mask[region].all():
            return []  # the tensors are interleaved, which no port does
        start = int(ends[number]) - tensors.low[names[number]].size
        pieces.append(Piece(leaf.number, region, names[number], source[region] - start))
    return pieces


def _consistent(
    source: np.ndarray, ambiguous: np.ndarray, values: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Choose among several matches of a value by continuing the stride of its neighbours.

    Returns:
        The index of each element's match, and where it is still ambiguous.
    """
    for _ in range(8):
        if not ambiguous.any():
            break
        for axis, step in itertools.product(range(x.ndim), (1, -1)):
            near = np.roll(source, step, axis)
            known = ~np.roll(ambiguous, step, axis)
            np.moveaxis(known, axis, 0)[0 if step > 0 else -1] = False  # the edge has no neighbour
            strides = (source - near)[known & ~ambiguous]
            if not strides.size:
                continue
            stride = np.bincount(strides - strides.min()).argmax() + strides.min()
            guess = near + stride
            inside = (guess >= 0) & (guess < values.size)
            right = ambiguous & known & inside & ~np.isin(guess, source[~ambiguous])
            right &= values[np.where(inside, guess, 0)] == x
            source = np.where(right, guess, source)
            ambiguous = ambiguous & ~right
    return source, ambiguous


def _distinct(
    source: np.ndarray,
    ambiguous: np.ndarray,
    order: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
) -> np.ndarray:
    """Match ambiguous elements in order with elements of their value that no other one matches.

    The matches of each element are `order[first:last]`.
    """
    at = np.flatnonzero(ambiguous)
    at = at[np.argsort(first[at], kind="stable")]
    start = first[at]
    rank = np.arange(len(at)) - np.searchsorted(start, start)
    used = np.zeros(len(order), bool)
    used[source[~ambiguous]] = True
    free = np.concatenate([[0], np.cumsum(~used[order])])  # how many come before each position
    chosen = np.searchsorted(free, free[start] + rank + 1) - 1
    fits = chosen < last[at]
    source = source.copy()
    source.flat[at[fits]] = order[chosen[fits]]
    return source


def low(x: Any) -> np.ndarray:
    """Round to float32, the dtype of most checkpoints in both frameworks."""
    x = np.asarray(x)
    return x.astype(np.complex64 if np.iscomplexobj(x) else np.float32, copy=False)


def varies(x: np.ndarray) -> bool:
    """Whether the values can identify a tensor: they are not all equal, and not a single 0 or 1."""
    return bool(x.size > 1 and np.any(x != x.flat[0])) or (x.size == 1 and x.flat[0] not in (0, 1))


def _others(x: np.ndarray, axis: int) -> tuple[int, ...]:
    return tuple(a for a in range(x.ndim) if a != axis)
