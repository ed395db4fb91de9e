"""Draw new inputs within what a module accepts: floats, indices, labels, lengths and masks.

Special values are drawn on purpose: the padding index of an embedding, and ignored labels. An input
keeps its structure: sorted and distinct values stay so, padding stays at the end, and a causal mask
is kept. Edge cases that correct ports may treat in another way are tried apart, for a note.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np


@dataclasses.dataclass(frozen=True)
class Range:
    """The integers that a call accepts as an index or a label."""

    low: int
    high: int  # exclusive
    special: tuple[int, ...] = ()  # values with a meaning of their own: padding, ignored labels
    distinct: bool = False  # whether equal indices would be undefined, as in a scatter
    rare: tuple[int, ...] = ()  # like special, but drawn only if a given value is one of them

    def intersect(self, other: Range) -> Range:
        """Return the values that both calls accept; special ones need one call that knows them."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        special = tuple(dict.fromkeys((*self.special, *other.special)))
        rare = tuple(dict.fromkeys((*self.rare, *other.rare)))
        return Range(low, high, special, self.distinct or other.distinct, rare)


def candidates(
    leaves: Sequence[np.ndarray], ranges: Mapping[int, Range], rng: np.random.Generator
) -> list[list[np.ndarray]]:
    """Return new values for each input, the most demanding first; the given ones are the last."""
    redrawn = (_redrawn(x, ranges.get(k), rng) for k, x in enumerate(leaves))
    return [[*map(np.asarray, new), x] for new, x in zip(redrawn, leaves, strict=True)]


class Edge(NamedTuple):
    """Inputs of an edge case that the given inputs do not contain."""

    name: str
    leaves: list[np.ndarray]


def edges(
    names: Sequence[str], leaves: Sequence[np.ndarray], ranges: Mapping[int, Range]
) -> Iterator[Edge]:
    """Yield inputs with a masked row, with ignored labels of sequences or padding, and zeros."""
    for k, (name, x) in enumerate(zip(names, leaves, strict=True)):
        rest = list(leaves)
        wide = x.ndim > 1 and min(len(x), x.shape[-1]) > 1 and (x.dtype.kind == "b" or np.ptp(x))
        if k not in ranges and wide and _is_mask(x) and _is_padding(x):
            rest[k] = x.copy()
            rest[k][-1] = not _is_falling(x)
            if not np.array_equal(rest[k], x):
                yield Edge(f"row {len(x) - 1} of input {name} masked altogether", rest)
        # One label for each row of a batch, as of an image, is never the padding of a sequence.
        for label in ranges[k].rare if k in ranges and x.ndim > 1 and x.size > 1 else ():
            if not (x == label).any():
                rest[k] = x.copy()
                rest[k].reshape(-1)[-1] = label
                yield Edge(f"{label} (the ignore_index of torch's losses) in input {name}", rest)
        for index in ranges[k].special if k in ranges and x.ndim and x.shape[-1] > 1 else ():
            if not (x[..., 0] == index).any():
                rest[k] = x.copy()
                rest[k].reshape(-1)[0] = index
                yield Edge(f"{index} at the start of a row of input {name}", rest)
    floats = [k for k, x in enumerate(leaves) if x.dtype.kind == "f" and x.size > 3]
    if floats := [k for k in floats if np.ptp(leaves[k]) and not _is_mask(leaves[k])]:
        rest = list(leaves)
        for k in floats:
            rest[k] = leaves[k].copy()
            rest[k].reshape(-1)[::4] = 0
            rest[k][..., 1::3] = rest[k][..., : len(rest[k][..., 1::3].T) * 3 : 3]
        yield Edge(f"zeros and ties in input {', '.join(names[k] for k in floats)}", rest)


def _redrawn(
    x: np.ndarray, accepted: Range | None, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    if not x.size:
        return
    if accepted is None and _is_mask(x):
        if x.dtype.kind == "b" or np.ptp(x):
            yield from _masks(x, rng)
    elif x.dtype.kind not in "iu":
        yield x * (1 + 0.2 * rng.standard_normal(x.shape))
    else:
        if accepted is not None and accepted.low < accepted.high:
            yield _indices(x, accepted, rng)
            yield _indices(x, dataclasses.replace(accepted, special=(), rare=()), rng)
        values = np.unique(x)
        if _is_distinct(x):
            yield _arranged(x, rng.permuted(x, axis=-1))
        yield _arranged(x, rng.choice(values, x.shape))
        if x.ndim:
            yield np.roll(x, 1, -1)


def _indices(x: np.ndarray, accepted: Range, rng: np.random.Generator) -> np.ndarray:
    """Draw indices in a range; special values take the places that they have, or the last ones."""
    values = np.setdiff1d(np.arange(accepted.low, accepted.high), accepted.special)
    count = x.shape[-1] if x.ndim else 1
    if accepted.distinct and _is_distinct(x):
        if len(values) < count:
            return _arranged(x, rng.permuted(x, axis=-1))
        rows = [rng.choice(values, count, replace=False) for _ in range(x.size // count)]
        return _arranged(x, np.reshape(rows, x.shape))
    new = _arranged(x, rng.choice(values if len(values) else [accepted.low], x.shape))
    known = [special for special in accepted.rare if (x == special).any()]
    for special in (*accepted.special, *known):
        given = x == special
        if given.any():
            places = np.roll(given, 1, 0)
        else:
            places = np.zeros(x.shape, bool)
            places.reshape(-1, count)[::2, count - max(1, count // 4) :] = count > 1
        new[places] = special
    return new.astype(x.dtype)


def _is_distinct(x: np.ndarray) -> bool:
    """Whether the values along the last axis differ from each other."""
    return bool(x.ndim) and x.shape[-1] > 1 and bool(np.diff(np.sort(x, -1), axis=-1).all())


def _arranged(x: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Sort new values along the last axis if the given ones are sorted, as group numbers are."""
    is_sorted = x.ndim and x.shape[-1] > 2 and np.all(np.diff(x.astype(np.int64), axis=-1) >= 0)
    return (np.sort(new, -1) if is_sorted else new).astype(x.dtype)


def _masks(x: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draw masks of the same form: with other lengths, or with permuted rows."""
    if not x.ndim or _is_triangular(x):
        return
    rows, count = x.size // x.shape[-1], x.shape[-1]
    if count == 1:
        yield np.roll(x, 1, 0)
        return
    if _is_padding(x):
        shown = (x.astype(bool) if _is_falling(x) else ~x.astype(bool)).sum(-1)
        shortest = max(1, int(shown.min())) if shown.min() < count else 1
        lengths = rng.integers(shortest, count + 1, rows)
        lengths[0] = count  # the first row shows the padding index that `_indices` puts there
        lengths[-1] = max(1, count - 1)
        mask = np.arange(count) < lengths[:, None]
        yield (mask if _is_falling(x) else ~mask).reshape(x.shape).astype(x.dtype)
    yield rng.permuted(x, axis=-1)


def _is_mask(x: np.ndarray) -> bool:
    return bool(np.all((x == 0) | (x == 1)))


def _is_padding(x: np.ndarray) -> bool:
    """Whether a mask hides one end of each row."""
    steps = np.diff(x.astype(np.int8), axis=-1)
    return bool(np.all(steps <= 0) or np.all(steps >= 0))


def _is_falling(x: np.ndarray) -> bool:
    """Whether a padding mask is one where a row is kept, not where it is hidden."""
    return bool(np.all(np.diff(x.astype(np.int8), axis=-1) <= 0)) and bool(x.any())


def _is_triangular(x: np.ndarray) -> bool:
    """Whether a mask hides the future, or shows only the future, in its last two axes."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or x.shape[-1] < 2:
        return False
    y, ones = x.astype(bool), np.ones(x.shape[-2:], bool)
    triangles = [np.broadcast_to(np.tril(ones, k), x.shape) for k in (0, -1)]
    return any(np.array_equal(y, t) or np.array_equal(y, ~t) for t in triangles)
