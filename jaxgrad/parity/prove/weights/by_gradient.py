"""Match constant leaves by their gradients, because neither values nor names identify them.

At weights that are constant in both frameworks, a right port has torch's gradients, whichever leaf
holds which tensor. `prove` then redraws all weights, which shows whether the match is correct.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from jaxgrad.parity.prove.weights import by_name, by_value
from jaxgrad.parity.prove.weights.by_value import ParamLeaf, Tensors, varies, without
from jaxgrad.parity.prove.weights.map import Piece, WeightMap


def guessed_leaves(mapped: WeightMap) -> set[int]:
    """Return the leaves whose tensors were only guessed: constants that hold each element once."""
    held: dict[int, list[Piece]] = {}
    for piece in mapped.pieces:
        held.setdefault(piece.leaf, []).append(piece)
    return {
        leaf
        for leaf, pieces in held.items()
        if all(p.guessed and not np.any(p.offset) and np.all(p.scale == 1) for p in pieces)
        and sum(p.index.size for p in pieces) == mapped.leaves[leaf].size
        and not any(varies(by_value.low(mapped.tensors[p.name])) for p in pieces)
    }


def moved(mapped: WeightMap, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a state whose constant tensors are moved away from zero, equal ones by the same.

    A layer that starts at zero passes no gradient to the layers before it.
    """
    names = {p.name for p in mapped.pieces if p.leaf in guessed_leaves(mapped)}
    return {name: x + 0.25 if name in names else x for name, x in state.items()}


def rematched(
    mapped: WeightMap,
    tensors: Mapping[str, np.ndarray | None],
    leaves: Sequence[np.ndarray | None],
) -> WeightMap:
    """Return the map in which each guessed leaf holds the tensors that have its gradient.

    Args:
        mapped: The map, with guessed pieces.
        tensors: torch's gradients by name, None if there is none.
        leaves: The gradient of each leaf of the port, None if there is none.
    """
    guessed = guessed_leaves(mapped)
    sure = [piece for piece in mapped.pieces if piece.leaf not in guessed]
    held = {piece.name for piece in sure}
    constant = {
        name: x for name, x in mapped.tensors.items()
        if name not in held and not varies(by_value.low(x))
    }  # fmt: skip
    known = Tensors({n: g for n in constant if (g := tensors.get(n)) is not None})
    wanted = [
        ParamLeaf(i, mapped.paths[i], g) for i in sorted(guessed) if (g := leaves[i]) is not None
    ]
    found: list[Piece] = []
    for leaf in wanted:
        found += _valid(mapped, by_value.whole(known, leaf, {piece.name for piece in found}))
    for match in (by_value.chunks, by_value.slices):
        for leaf in without(wanted, found):
            found += _valid(mapped, match(known, leaf))
    open_ = [piece for piece in mapped.pieces if piece.leaf in guessed]
    overlapping = {p.leaf for p in open_ if _overlaps(p, found)}
    matched = {piece.leaf for piece in found}
    found += [p for p in open_ if p.leaf not in matched | overlapping]
    rest = [
        ParamLeaf(i, mapped.paths[i], np.full(mapped.leaves[i].shape, _number(mapped, i)))
        for i in sorted(overlapping - matched)
    ]
    score = by_name.scored(mapped.paths, [*sure, *found])
    found += by_name.constants(constant, rest, score, found)
    if {piece.leaf for piece in found} != guessed:
        return mapped
    return dataclasses.replace(mapped, pieces=(*sure, *found))


def _valid(mapped: WeightMap, pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces of a leaf as guesses, or none if the leaf's values are not the tensors'."""
    numbers = {_number(mapped, p.leaf) for p in pieces}
    values = {float(mapped.tensors[p.name].flat[0].real) for p in pieces}
    near = all(np.isclose(x, y, atol=1e-7) for x in numbers for y in values)
    if not near or any(np.any(p.offset) for p in pieces):
        return []
    return [dataclasses.replace(piece, guessed=True) for piece in pieces]


def _number(mapped: WeightMap, leaf: int) -> float:
    """Return the number in all elements of a constant leaf."""
    name = next(piece.name for piece in mapped.pieces if piece.leaf == leaf)
    return float(mapped.tensors[name].flat[0].real)


def _overlaps(piece: Piece, others: Iterable[Piece]) -> bool:
    return any(p.name == piece.name and np.isin(piece.used, p.used).any() for p in others)
