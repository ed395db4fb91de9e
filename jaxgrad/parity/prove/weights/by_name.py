"""Pair constant leaves (ones, zeros) by name, because their values cannot identify them."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.prove.weights.by_value import ParamLeaf, varies, without
from jaxgrad.parity.prove.weights.likeness import likeness, natural, role
from jaxgrad.parity.prove.weights.map import Piece, WeightMap, everything


Score = Callable[[ParamLeaf, str], float]


def constants(
    tensors: Mapping[str, np.ndarray],
    leaves: Sequence[ParamLeaf],
    score: Score,
    known: Sequence[Piece] = (),
) -> list[Piece]:
    """Pair constant leaves with the elements of constant tensors that no known piece holds.

    The best scores come first: first whole tensors, then stacks of layers, slices and, for leaves
    that are still without a tensor, any elements with their value.
    """
    free = {name: np.ones(t.size, bool) for name, t in tensors.items()}
    for piece in known:
        _take(free, [piece])
    whole = {name: t for name, t in tensors.items() if free[name].all()}
    pieces = _paired(whole, [leaf for leaf in leaves if not varies(leaf.low)], score)
    _take(free, pieces)
    for leaf in without(leaves, pieces):
        pieces += _take(free, _stacked({n: t for n, t in tensors.items() if free[n].all()}, leaf))
    rest = without(leaves, pieces)
    for leaf in sorted(rest, key=lambda leaf: role(leaf.path)):
        alone = sum(other.value.size == leaf.value.size for other in rest) == 1
        pieces += _take(free, _split(tensors, leaf, score, free, last=alone))
    for leaf in without(leaves, pieces):
        pieces += _take(free, _filled(tensors, leaf, score, free))
    return pieces


def tied(
    tensors: Mapping[str, np.ndarray],
    leaves: Sequence[ParamLeaf],
    names: Mapping[str, str],
    known: Sequence[Piece],
) -> list[Piece]:
    """Pair a leaf with a constant tensor that another leaf holds under another of its keys.

    Args:
        tensors: The constant tensors by name.
        leaves: The constant leaves that are without a tensor.
        names: The keys of torch's state_dict, each with the name of its tensor.
        known: The pieces of the other leaves.
    """
    keys: dict[str, list[str]] = {}
    for key, name in names.items():
        keys.setdefault(name, []).append(key)
    held: dict[str, set[int]] = {}
    for piece in known:
        held.setdefault(piece.name, set()).add(piece.leaf)
    pieces: list[Piece] = []
    for leaf in leaves:
        fits = [
            (likeness(key, leaf.path), name)
            for name, t in tensors.items()
            if t.size == leaf.value.size and _equal(t, leaf.value)
            for key in keys.get(name, ())
            if len(held.get(name, ())) < len(keys[name])
        ]
        if fits:
            _, name = max(fits, key=lambda pair: pair[0])
            index = np.arange(leaf.value.size).reshape(leaf.value.shape)
            pieces.append(Piece(leaf.number, everything(leaf.value), name, index, guessed=True))
            held.setdefault(name, set()).add(leaf.number)
    return pieces


def _take(free: Mapping[str, np.ndarray], pieces: list[Piece]) -> list[Piece]:
    """Mark the elements of some pieces as used, and return the pieces."""
    for piece in pieces:
        if piece.name in free:
            free[piece.name][piece.used] = False
    return pieces


def scored(paths: Sequence[str], known: Sequence[Piece]) -> Score:
    """Score a leaf and a tensor by shared words, plus 10 if a sibling is from the same module.

    Without a known sibling, the score counts how much of the tensor's path is shared with the
    tensors in the smallest subtree around the leaf that contains known pieces.
    """

    def score(leaf: ParamLeaf, name: str) -> float:
        parent, module = leaf.path.rpartition("/")[0], name.rpartition(".")[0]
        siblings = {
            piece.name.rpartition(".")[0]
            for piece in known
            if paths[piece.leaf].rpartition("/")[0] == parent
        }
        around = _around(leaf.path, known, paths)
        shared = [_shared(name, other) for other in around]
        near = 5 * sum(shared) / len(shared) if shared else 0
        return likeness(name, leaf.path) + (10 if module in siblings else 0) + near

    return score


def _around(path: str, known: Sequence[Piece], paths: Sequence[str]) -> list[str]:
    """Return the tensors in the smallest subtree around a leaf that contains known pieces."""
    while "/" in path:
        path = path.rpartition("/")[0]
        names = {piece.name for piece in known if paths[piece.leaf].startswith(path + "/")}
        if names:
            return sorted(names)
    return []


def _shared(name: str, other: str) -> float:
    """Return the fraction of a name's parts that form a common prefix with another name."""
    parts = name.split(".")
    pairs = zip(parts, other.split("."), strict=False)
    prefix = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    return len(list(prefix)) / len(parts)


def _paired(
    tensors: Mapping[str, np.ndarray], leaves: Sequence[ParamLeaf], score: Score
) -> list[Piece]:
    """Pair each constant leaf with a whole constant tensor of the same size and value."""
    ranked = []
    for leaf, (name, t) in itertools.product(leaves, tensors.items()):
        x = leaf.value
        if x.size == t.size and (not x.size or np.allclose(x.flat[0], t.flat[0], atol=1e-7)):
            other = _lengths(x) != _lengths(t)  # a reshaped tensor comes last
            rank = other, -score(leaf, name), natural(leaf.path), natural(name)
            ranked.append((rank, leaf, name))
    pieces: dict[int, Piece] = {}
    taken: set[str] = set()
    for _, leaf, name in sorted(ranked, key=lambda r: r[0]):
        if leaf.number not in pieces and name not in taken:
            t, x = tensors[name], leaf.value
            index = np.arange(t.size).reshape(x.shape)
            if t.ndim == 2 and t.shape[::-1] == x.shape:
                index = np.arange(t.size).reshape(t.shape).T
            pieces[leaf.number] = Piece(leaf.number, everything(x), name, index, guessed=True)
            taken.add(name)
    return list(pieces.values())


def _lengths(x: np.ndarray) -> list[int]:
    """Return the lengths of an array's axes in ascending order, without those of length 1."""
    return sorted(n for n in x.shape if n > 1)


def _stacked(tensors: Mapping[str, np.ndarray], leaf: ParamLeaf) -> list[Piece]:
    """Match a leaf that stacks the same tensor of every layer."""
    x = leaf.value
    count = x.shape[0] if x.ndim else 0
    fitting = [n for n, t in tensors.items() if count and t.size * count == x.size]
    fitting = [n for n in fitting if np.allclose(tensors[n], x.flat[0], atol=1e-7)]
    groups: dict[str, list[str]] = {}
    for name, number in [(n, m) for n in fitting for m in re.finditer(r"\d+", n)]:
        pattern = f"{name[: number.start()]}#{name[number.end() :]}"
        groups.setdefault(pattern, []).append(name)
    ranked = sorted(groups.items(), key=lambda g: -likeness(g[0], leaf.path))
    for _, names in ranked:
        if len(names) == count:
            return [
                Piece(
                    leaf.number,
                    (slice(i, i + 1), *everything(x)[1:]),
                    name,
                    np.arange(tensors[name].size).reshape(1, *x.shape[1:]),
                    guessed=True,
                )
                for i, name in enumerate(sorted(names, key=natural))
            ]
    return []


def _split(
    tensors: Mapping[str, np.ndarray],
    leaf: ParamLeaf,
    score: Score,
    free: Mapping[str, np.ndarray],
    last: bool,
) -> list[Piece]:
    """Match a leaf that is a slice of a constant tensor, such as the bias of one of q, k and v.

    A single slice is the `last`: equinox's GRU has the bias of the new gate in a leaf of its own.
    """
    x = leaf.value
    fitting: dict[str, list[int]] = {}
    for name, t in tensors.items():
        if x.size and t.size > x.size and t.size % x.size == 0 and _equal(t, x):
            open_ = np.flatnonzero(free[name].reshape(-1, x.size).all(1))
            if open_.size:
                fitting[name] = [int(k) for k in open_]
    if not fitting:
        return []
    name = max(fitting, key=lambda n: (score(leaf, n), -len(fitting[n])))
    start = fitting[name][-1 if last else 0] * x.size
    index = np.arange(start, start + x.size).reshape(x.shape)
    return [Piece(leaf.number, everything(x), name, index, guessed=True)]


def _filled(
    tensors: Mapping[str, np.ndarray],
    leaf: ParamLeaf,
    score: Score,
    free: Mapping[str, np.ndarray],
) -> list[Piece]:
    """Match a leaf with several whole tensors of its value, side by side along an axis.

    This is only a start: `by_gradient` finds the tensors that the port needs there.
    """
    x = leaf.value
    names = [n for n, t in tensors.items() if t.size and free[n].all() and _equal(t, x)]
    names.sort(key=lambda name: (-score(leaf, name), natural(name)))
    for axis, length in enumerate(x.shape):
        full, start, pieces = everything(x), 0, []
        for name in names:
            size, rest = divmod(length * tensors[name].size, x.size)
            if rest or not size or start + size > length:
                continue
            region = (*full[:axis], slice(start, start + size), *full[axis + 1 :])
            index = np.arange(tensors[name].size).reshape(x[region].shape)
            pieces.append(Piece(leaf.number, region, name, index, guessed=True))
            start += size
        if start == length and pieces:
            return pieces
    return []


def _equal(t: np.ndarray, x: np.ndarray) -> bool:
    """Whether a constant tensor holds the number of a constant leaf."""
    return bool(x.size and np.allclose(x, t.flat[0], atol=1e-7))


def exchangeable(mapped: WeightMap) -> list[tuple[int, int]]:
    """Return the pairs of pieces that hold constants of one size and value; slices come first."""
    pieces = mapped.pieces

    def value(piece: Piece) -> Any:
        return mapped.tensors[piece.name].flat[0]

    guessed = [i for i, piece in enumerate(pieces) if piece.guessed and piece.index.size]
    pairs = [
        (i, k)
        for i, k in itertools.combinations(guessed, 2)
        if pieces[i].index.size == pieces[k].index.size and value(pieces[i]) == value(pieces[k])
    ]
    return sorted(pairs, key=lambda pair: pieces[pair[0]].name != pieces[pair[1]].name)


def exchanged(mapped: WeightMap, i: int, k: int) -> WeightMap:
    """Return the map in which two pieces of one size hold each other's elements."""
    pieces = list(mapped.pieces)
    a, b = pieces[i], pieces[k]
    pieces[i] = dataclasses.replace(a, name=b.name, index=b.index.reshape(a.index.shape))
    pieces[k] = dataclasses.replace(b, name=a.name, index=a.index.reshape(b.index.shape))
    return dataclasses.replace(mapped, pieces=tuple(pieces))
