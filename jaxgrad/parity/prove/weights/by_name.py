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
    tensors: Mapping[str, np.ndarray], leaves: Sequence[ParamLeaf], score: Score
) -> list[Piece]:
    """Pair constant leaves with constant tensors, best scores first."""
    pieces = _paired(tensors, [leaf for leaf in leaves if not varies(leaf.low)], score)
    for leaf in without(leaves, pieces):
        taken = {piece.name for piece in pieces}
        pieces += _stacked({n: t for n, t in tensors.items() if n not in taken}, leaf)
    rest = without(leaves, pieces)
    for leaf in sorted(rest, key=lambda leaf: role(leaf.path)):
        alone = sum(other.value.size == leaf.value.size for other in rest) == 1
        pieces += _split(tensors, leaf, score, pieces, last=alone)
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
            ranked.append((-score(leaf, name), natural(leaf.path), natural(name), leaf, name))
    pieces: dict[int, Piece] = {}
    taken: set[str] = set()
    for *_, leaf, name in sorted(ranked, key=lambda r: r[:3]):
        if leaf.number not in pieces and name not in taken:
            t, x = tensors[name], leaf.value
            index = np.arange(t.size).reshape(x.shape)
            if t.ndim == 2 and t.shape[::-1] == x.shape:
                index = np.arange(t.size).reshape(t.shape).T
            pieces[leaf.number] = Piece(leaf.number, everything(x), name, index, guessed=True)
            taken.add(name)
    return list(pieces.values())


def _stacked(tensors: Mapping[str, np.ndarray], leaf: ParamLeaf) -> list[Piece]:
    """Match a leaf that stacks the same tensor of every layer."""
    x = leaf.value
    count = x.shape[0] if x.ndim else 0
    fitting = [n for n, t in tensors.items() if count and t.size * count == x.size]
    fitting = [n for n in fitting if np.allclose(tensors[n], x.flat[0], atol=1e-7)]
    groups: dict[str, list[str]] = {}
    for name in fitting:
        groups.setdefault(re.sub(r"\d+", "#", name), []).append(name)
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
    matched: Sequence[Piece],
    last: bool,
) -> list[Piece]:
    """Match a leaf that is a slice of a constant tensor, such as the bias of one of q, k and v.

    A single slice is the `last`: equinox's GRU has the bias of the new gate in a leaf of its own.
    """
    x = leaf.value
    used: dict[str, int] = {}
    for piece in matched:
        used[piece.name] = used.get(piece.name, 0) + piece.index.size
    fitting = []
    for name, t in tensors.items():
        unused = t.size - used.get(name, 0)
        if x.size and t.size > x.size and unused >= x.size and t.size % x.size == 0:
            if np.allclose(t.flat[0], x.flat[0], atol=1e-7):
                fitting.append(name)
    if not fitting:
        return []
    name = max(fitting, key=lambda n: (score(leaf, n), used.get(n, 0)))
    start = tensors[name].size - x.size if last else used.get(name, 0)
    index = np.arange(start, start + x.size).reshape(x.shape)
    return [Piece(leaf.number, everything(x), name, index, guessed=True)]


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
