"""Recover the pieces of a linear converter by calling it with chosen tensors.

A call with a tensor of ones gives each leaf element's coefficient, and a call with numbers from 1
on gives the tensor element that it reads. If a leaf element reads several, the tensor is split.
Random tensors, on which the converter must agree with its pieces, decide whether it is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from jaxgrad.parity.prove.weights.map import Piece, Tensors, everything


Convert = Callable[[Tensors], Mapping[int, np.ndarray]]  # tensors by name -> leaves by number
Term = tuple[str, np.ndarray, np.ndarray]  # a tensor, and each leaf element's index and coefficient

CALLS = 400  # of the converter, at most
_BASE = 2048  # of the digits that number the elements, which float32 and float16 represent exactly
_RTOL, _RTOL32 = 1e-13, 1e-6  # for a converter that returns float64, or float32


class NotLinear(Exception):
    """The converter is not a sparse linear function; `leaves` lists the leaves that are not."""

    def __init__(self, leaves: Sequence[int]):
        super().__init__(f"leaves {list(leaves)} are not linear")
        self.leaves = list(leaves)


def pieces_of(convert: Convert, shapes: Mapping[str, tuple[int, ...]]) -> list[Piece]:
    """Return the pieces of a linear converter.

    Args:
        convert: A function from tensors by name to leaves by number.
        shapes: The shapes of torch's tensors.

    Returns:
        The pieces. A leaf that depends on no tensor has none.

    Raises:
        NotLinear: Some leaves are not linear, or have too many terms.
    """
    probe = _Probe(convert, shapes)
    terms: dict[int, list[Term]] = {leaf: [] for leaf in probe.base}
    for name in read_names(probe.changed, list(shapes)):
        for leaf, found in probe.terms(name).items():
            terms[leaf] += [(name, *term) for term in found]
    pieces = [p for leaf, base in probe.base.items() for p in _pieces(leaf, terms[leaf], base)]
    bad = probe.disagreeing(pieces)
    if bad:
        raise NotLinear(bad)
    return pieces


def read_names(changed: Callable[[Sequence[str]], bool], names: Sequence[str]) -> Iterator[str]:
    """Yield the tensors that the converter reads, by testing halves of the names."""
    if not names or not changed(names):
        return
    if len(names) == 1:
        yield names[0]
        return
    half = len(names) // 2
    yield from read_names(changed, names[:half])
    yield from read_names(changed, names[half:])


class _Probe:
    """A converter whose calls are counted, and its value at zero."""

    def __init__(self, convert: Convert, shapes: Mapping[str, tuple[int, ...]]):
        self.convert, self.shapes, self.calls = convert, shapes, 0
        self.rng = np.random.default_rng(23)
        self.base = self._call({})
        values = self.base.items()
        bad = [leaf for leaf, x in values if np.iscomplexobj(x) or not np.isfinite(x).all()]
        if bad:
            raise NotLinear(bad)

    def _call(self, tensors: Tensors) -> dict[int, np.ndarray]:
        self.calls += 1
        if self.calls > CALLS:
            raise NotLinear(sorted(self.base))
        zeros = {name: np.zeros(shape) for name, shape in self.shapes.items()}
        return {i: np.array(x) for i, x in self.convert({**zeros, **tensors}).items()}

    def _linear(self, name: str, flat: np.ndarray) -> dict[int, np.ndarray]:
        """Return the leaves for one tensor, less the leaves for zeros."""
        leaves = self._call({name: flat.reshape(self.shapes[name])})
        return {i: np.asarray(x - self.base[i], np.float64).ravel() for i, x in leaves.items()}

    def _random(self, name: str) -> np.ndarray:
        return self.rng.integers(1, 2**23, int(np.prod(self.shapes[name]))) / 2.0**23

    def changed(self, names: Sequence[str]) -> bool:
        """Whether the leaves change with these tensors."""
        tensors = {name: self._random(name).reshape(self.shapes[name]) for name in names}
        leaves = self._call(tensors)
        return any(not np.array_equal(x, self.base[i]) for i, x in leaves.items())

    def terms(self, name: str) -> dict[int, list[tuple[np.ndarray, np.ndarray]]]:
        """Return for each leaf the terms of one tensor: arrays of indices and coefficients."""
        size = int(np.prod(self.shapes[name]))
        found: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {i: [] for i in self.base}
        random = self._random(name)
        totals = self._linear(name, random)
        todo = [(np.ones(size, bool), {i: x != 0 for i, x in totals.items()}, totals)]
        while todo:
            part, open_, totals = todo.pop()
            if not any(x.any() for x in open_.values()):
                continue
            ones = self._linear(name, part.astype(np.float64))
            index = {i: np.zeros(x.shape, np.int64) for i, x in ones.items()}
            for place in range(_digits(size)):
                numbers = np.arange(size) // _BASE**place % _BASE
                values = self._linear(name, part * (numbers + 1.0))
                for i, x in ones.items():
                    ratio = np.divide(values[i], x, out=np.zeros(x.shape), where=x != 0)
                    digit = np.clip(np.rint(ratio) - 1, 0, _BASE - 1).astype(np.int64)
                    index[i] += digit * _BASE**place
            rest = {}
            for i, x in ones.items():
                at = np.minimum(index[i], size - 1)
                off = np.abs(x * random[at] - totals[i])
                right = off <= _rtol(self.base[i]) * np.abs(totals[i])
                right &= open_[i] & part[at] & (x != 0)
                if right.any():
                    found[i].append((np.where(right, at, 0), np.where(right, x, 0.0)))
                rest[i] = open_[i] & ~right
            if any(x.any() for x in rest.values()):
                todo += self._halves(name, part, random, rest)
        return {i: terms for i, terms in found.items() if terms}

    def _halves(
        self, name: str, part: np.ndarray, random: np.ndarray, rest: Mapping[int, np.ndarray]
    ) -> list[tuple[np.ndarray, dict[int, np.ndarray], dict[int, np.ndarray]]]:
        """Split a part of a tensor along the axis that separates the most terms."""
        if part.sum() < 2:
            raise NotLinear([i for i, x in rest.items() if x.any()])
        options = []
        shape = self.shapes[name]
        for axis in range(len(shape)):
            where = np.flatnonzero(part.reshape(shape).any(_others(len(shape), axis)))
            if len(where) < 2:
                continue
            lower = np.zeros(shape, bool)
            lower[(slice(None),) * axis + (where[: len(where) // 2],)] = True
            halves = [part & lower.ravel(), part & ~lower.ravel()]
            totals = [self._linear(name, half * random) for half in halves]
            open_ = [{i: rest[i] & (t[i] != 0) for i in rest} for t in totals]
            separated = sum(int((open_[0][i] & open_[1][i]).sum()) for i in rest)
            options.append((separated, -axis, list(zip(halves, open_, totals, strict=True))))
        return max(options, key=lambda option: option[:2])[2]

    def disagreeing(self, pieces: Sequence[Piece]) -> list[int]:
        """Return the leaves that differ from the sum of their pieces on random tensors."""
        bad = set()
        for _ in range(2):
            tensors = {n: self.rng.standard_normal(shape) for n, shape in self.shapes.items()}
            actual = self._call(tensors)
            held = {piece.leaf for piece in pieces}
            expected = {i: x * np.float64(i not in held) for i, x in self.base.items()}
            for piece in pieces:
                expected[piece.leaf][piece.region] += piece.take(tensors[piece.name])
            for i, x in actual.items():
                scale = np.max(np.abs(expected[i]), initial=0.0)
                if not np.all(np.abs(x - expected[i]) <= _rtol(x) * scale):
                    bad.add(i)
        return sorted(bad)


def _pieces(leaf: int, terms: Sequence[Term], base: np.ndarray) -> list[Piece]:
    """Return a leaf's pieces; the first contains the leaf's value at zero as its offset."""
    pieces = []
    for number, (name, index, scale) in enumerate(terms):
        index, scale = index.reshape(base.shape), scale.reshape(base.shape)  # noqa: PLW2901
        constant = not number and base.any()
        region = everything(base) if constant else _box(scale != 0)
        offset = _scalar(base) if constant else 0.0
        pieces.append(
            Piece(leaf, region, name, index[region], offset, False, _scalar(scale[region]))
        )
    return pieces


def _box(mask: np.ndarray) -> tuple[slice, ...]:
    """Return the smallest region that contains all marked elements."""
    corners = [np.flatnonzero(mask.any(_others(mask.ndim, axis))) for axis in range(mask.ndim)]
    return tuple(slice(int(c[0]), int(c[-1]) + 1) for c in corners)


def _scalar(x: np.ndarray) -> float | np.ndarray:
    """Return a constant array as a number."""
    return float(x.flat[0]) if x.size and np.all(x == x.flat[0]) else x


def _rtol(leaf: np.ndarray) -> float:
    return _RTOL if leaf.dtype in (np.float64, np.complex128) else _RTOL32


def _digits(size: int) -> int:
    """Return how many digits number `size` elements."""
    return 1 + int(np.log(max(size - 1, 1)) / np.log(_BASE))


def _others(count: int, axis: int) -> tuple[int, ...]:
    return tuple(a for a in range(count) if a != axis)
