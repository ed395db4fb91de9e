"""Exchange weights of one shape, to find out whether a port uses one in place of another."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from jaxgrad.parity.prove.weights.likeness import likeness
from jaxgrad.parity.prove.weights.map import Piece, WeightMap


Order = tuple[int, ...]  # for each piece, the piece whose elements it takes


def orders(mapped: WeightMap, *, named: bool) -> Iterator[Order]:
    """Yield arrangements of a map's pieces, the likeliest first.

    First by the names of all leaves, then with two modules exchanged, then with two pieces.

    Args:
        mapped: The map of a port.
        named: Whether to yield the arrangements that fit the names of the leaves better than the
            map does, or the others.
    """
    count = len(mapped.pieces)
    tried = {tuple(range(count))}
    groups = _groups(mapped)
    pairs = [pair for group in groups for pair in itertools.combinations(group, 2)]
    pairs.sort(key=lambda pair: -_gain(mapped, [(pair[0], pair[1]), (pair[1], pair[0])]))
    candidates = itertools.chain(
        [_by_name(mapped, groups)], _modules(mapped), (_exchanged(count, [p]) for p in pairs)
    )
    for order in candidates:
        if order not in tried and (_gain(mapped, enumerate(order)) > 0) == named:
            tried.add(order)
            yield order


def arranged(mapped: WeightMap, order: Order) -> WeightMap:
    """Return the map in which each piece has the elements of the piece that `order` names."""
    pieces = [
        piece if i == k else dataclasses.replace(piece, name=other.name, index=other.index)
        for i, (piece, k) in enumerate(zip(mapped.pieces, order, strict=True))
        for other in [mapped.pieces[k]]
    ]
    return dataclasses.replace(mapped, pieces=tuple(pieces))


def described(mapped: WeightMap, order: Order, called: str = "the port") -> str:
    """Say which leaves hold other tensors than those that the port uses them for.

    If the names of the leaves agree with their tensors, the code may well be what is wrong.
    """
    moved = [(i, k) for i, k in enumerate(order) if i != k]
    named = _gain(mapped, moved) > 0
    texts = []
    for i, k in moved:
        piece, wanted = mapped.pieces[i], mapped.pieces[k].name
        path = mapped.paths[piece.leaf]
        part = "another part of " if piece.name == wanted else ""
        if named:
            needs = f"but {called} needs {part}{wanted!r} there"
            texts.append(f"leaf {path!r} holds torch's {piece.name!r}, {needs}")
        else:
            user = f"{called} uses " if not texts else ""
            texts.append(f"{user}leaf {path!r} as torch uses {part}{wanted!r}")
    rest = f"; and {len(texts) - 2} more" if len(texts) > 2 else ""
    wrong = "" if named or not texts else "; the code or the params are wrong"
    return "; ".join(texts[:2]) + rest + wrong


def misnamed(mapped: WeightMap) -> list[str]:
    """Return a note if leaves have the name of one tensor and the values of another."""
    names = {name.replace(".", "/"): name for name in mapped.tensors}
    notes = []
    for piece in mapped.pieces:
        path = mapped.paths[piece.leaf]
        named = names.get(path.replace(".", "/"))
        if named is None or piece.guessed or named in mapped.names_of(piece.leaf):
            continue
        if mapped.shapes[named] != mapped.shapes[piece.name]:
            continue
        if not np.array_equal(mapped.tensors[named], mapped.tensors[piece.name]):
            notes.append(f"leaf {path!r} holds torch's {piece.name!r}, not {named!r}")
    rest = f", and {len(notes) - 3} more" if len(notes) > 3 else ""
    return [f"names contradict values: {', '.join(notes[:3])}{rest}"] if notes else []


def _groups(mapped: WeightMap) -> list[list[int]]:
    """Group the pieces that can be exchanged: of one shape, from tensors of one shape."""
    groups: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for i, piece in enumerate(mapped.pieces):
        if _is_plain(piece):
            key = piece.index.shape, mapped.shapes[piece.name]
            groups.setdefault(key, []).append(i)
    return [group for group in groups.values() if len(group) > 1]


def _is_plain(piece: Piece) -> bool:
    return np.ndim(piece.offset) == 0 and np.ndim(piece.scale) == 0 and piece.scale == 1


def _score(mapped: WeightMap, i: int, k: int) -> float:
    """Score the likeness of a piece's leaf and the tensor of another piece; its own wins a tie."""
    pieces = mapped.pieces
    return likeness(pieces[k].name, mapped.paths[pieces[i].leaf]) + 1e-6 * (i == k)


def _gain(mapped: WeightMap, pairs: Iterable[tuple[int, int]]) -> float:
    """Return how much better the names fit if pieces have the elements of others."""
    return sum(_score(mapped, i, k) - _score(mapped, i, i) for i, k in pairs if i != k)


def _by_name(mapped: WeightMap, groups: Sequence[Sequence[int]]) -> Order:
    """Give each piece the tensor whose name is most like its leaf's."""
    order = list(range(len(mapped.pieces)))
    for group in groups:
        pairs = sorted(itertools.product(group, group), key=lambda pair: -_score(mapped, *pair))
        given: set[int] = set()
        taken: set[int] = set()
        for i, k in pairs:
            if i not in given and k not in taken:
                order[i] = k
                given.add(i)
                taken.add(k)
    return tuple(order)


def _modules(mapped: WeightMap) -> Iterator[Order]:
    """Yield the arrangements in which all tensors of two modules are exchanged."""
    modules: dict[str, dict[tuple[str, tuple[int, ...]], int]] = {}
    for i, piece in enumerate(mapped.pieces):
        module, _, name = piece.name.rpartition(".")
        modules.setdefault(module, {})[name, piece.index.shape] = i
    for a, b in itertools.combinations(modules.values(), 2):
        if len(a) > 1 and a.keys() == b.keys():
            yield _exchanged(len(mapped.pieces), [(a[key], b[key]) for key in a])


def _exchanged(count: int, pairs: Sequence[tuple[int, int]]) -> Order:
    order = list(range(count))
    for i, k in pairs:
        order[i], order[k] = k, i
    return tuple(order)
