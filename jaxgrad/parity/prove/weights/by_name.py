"""Constant leaves (ones, zeros) all look alike: they are paired by name, and marked as guessed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jaxgrad.parity.prove.weights.by_value import ParamLeaf, varies, without
from jaxgrad.parity.prove.weights.likeness import likeness, natural
from jaxgrad.parity.prove.weights.map import Piece, everything


Score = Callable[[ParamLeaf, str], float]


def constants(
    tensors: Mapping[str, np.ndarray], leaves: Sequence[ParamLeaf], score: Score
) -> list[Piece]:
    """Pair what is left, the best scores first.

    Args:
      tensors: The constant ones that no leaf holds yet.
      leaves: Those that hold no tensor yet.
      score: How well a leaf and a tensor's name go together.
    """
    found = _paired(tensors, [leaf for leaf in leaves if not varies(leaf.low)], score)
    for leaf in without(leaves, found):
        taken = {piece.name for piece in found}
        found += _stacked({n: t for n, t in tensors.items() if n not in taken}, leaf)
    for leaf in without(leaves, found):
        found += _split(tensors, leaf, score, found)
    return found


def scored(paths: Sequence[str], known: Sequence[Piece]) -> Score:
    """Shared words, and above all: what stands beside the leaf belongs to the same module.

    Where nothing known stands beside it, what stands around it shares the module's path.

    Args:
      paths: Of all leaves.
      known: The pieces that were found by value.
    """

    def score(leaf: ParamLeaf, name: str) -> float:
        parent, module = leaf.path.rpartition("/")[0], name.rpartition(".")[0]
        beside = {
            piece.name.rpartition(".")[0]
            for piece in known
            if paths[piece.leaf].rpartition("/")[0] == parent
        }
        around = _around(leaf.path, known, paths)
        shared = [_shared(name, other) for other in around]
        near = 5 * sum(shared) / len(shared) if shared else 0
        return likeness(name, leaf.path) + (10 if module in beside else 0) + near

    return score


def _around(path: str, known: Sequence[Piece], paths: Sequence[str]) -> list[str]:
    """The tensors in the smallest part of the tree around a leaf that holds known ones."""
    while "/" in path:
        path = path.rpartition("/")[0]
        names = {piece.name for piece in known if paths[piece.leaf].startswith(path + "/")}
        if names:
            return sorted(names)
    return []


def _shared(name: str, other: str) -> float:
    """The share of a name's parts, from the first on, that another begins with too."""
    parts = name.split(".")
    pairs = zip(parts, other.split("."), strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    return len(list(same)) / len(parts)


def _paired(
    tensors: Mapping[str, np.ndarray], leaves: Sequence[ParamLeaf], score: Score
) -> list[Piece]:
    """Each leaf a whole tensor of the same size and the same number."""
    ranked = []
    for leaf, (name, t) in itertools.product(leaves, tensors.items()):
        x = leaf.value
        if x.size == t.size and (not x.size or np.allclose(x.flat[0], t.flat[0], atol=1e-7)):
            ranked.append((-score(leaf, name), natural(leaf.path), natural(name), leaf, name))
    found: dict[int, Piece] = {}
    taken: set[str] = set()
    for *_, leaf, name in sorted(ranked, key=lambda r: r[:3]):
        if leaf.number not in found and name not in taken:
            t, x = tensors[name], leaf.value
            index = np.arange(t.size).reshape(x.shape)
            if t.ndim == 2 and t.shape[::-1] == x.shape:
                index = np.arange(t.size).reshape(t.shape).T
            found[leaf.number] = Piece(leaf.number, everything(x), name, index, guessed=True)
            taken.add(name)
    return list(found.values())


def _stacked(tensors: Mapping[str, np.ndarray], leaf: ParamLeaf) -> list[Piece]:
    """A leaf whose rows are the same tensor of every layer."""
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
    tensors: Mapping[str, np.ndarray], leaf: ParamLeaf, score: Score, found: Sequence[Piece]
) -> list[Piece]:
    """A leaf that is a part of a constant tensor: the bias of one of q, k and v."""
    x = leaf.value
    used: dict[str, int] = {}
    for piece in found:
        used[piece.name] = used.get(piece.name, 0) + piece.index.size
    fitting = []
    for name, t in tensors.items():
        left = t.size - used.get(name, 0)
        if x.size and t.size > x.size and left >= x.size and t.size % x.size == 0:
            if np.allclose(t.flat[0], x.flat[0], atol=1e-7):
                fitting.append(name)
    if not fitting:
        return []
    name = max(fitting, key=lambda n: (score(leaf, n), used.get(n, 0)))
    start = used.get(name, 0)
    index = np.arange(start, start + x.size).reshape(x.shape)
    return [Piece(leaf.number, everything(x), name, index, guessed=True)]
