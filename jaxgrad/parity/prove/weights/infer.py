"""Infer the weight map: match varying leaves by their values, and constant leaves by name.

`prove` then redraws all weights, which shows whether the constant leaves were paired correctly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jaxgrad.parity.prove.weights import by_name, by_value
from jaxgrad.parity.prove.weights.beside import beside, summed_zeros
from jaxgrad.parity.prove.weights.by_value import ParamLeaf, Tensors, without
from jaxgrad.parity.prove.weights.map import Piece, WeightMap


def infer(
    tensors: Mapping[str, np.ndarray],
    leaves: Sequence[np.ndarray],
    paths: Sequence[str],
    names: Mapping[str, str] | None = None,
) -> tuple[WeightMap, list[str], list[str]]:
    """Infer the weight map from the values of tensors and leaves.

    Args:
        tensors: torch's floating parameters and buffers by name; tied ones under their first name.
        leaves: Array leaves of the JAX params.
        paths: Paths of the leaves.
        names: The keys of torch's state_dict, each with the name of its tensor. A port may store a
            tied tensor under each of its keys.

    Returns:
        The map, the torch tensors that are in no leaf, and the paths of leaves that hold no tensor.
    """
    indexed = Tensors(tensors)
    floating = [
        ParamLeaf(i, path, x)
        for i, (path, x) in enumerate(zip(paths, leaves, strict=True))
        if np.issubdtype(np.asarray(x).dtype, np.inexact)
    ]
    pieces: list[Piece] = []
    for leaf in floating:
        pieces += by_value.whole(indexed, leaf, {piece.name for piece in pieces})
    for match in (by_value.chunks, by_value.slices, by_value.sums):
        for leaf in without(floating, pieces):
            pieces += match(indexed, leaf)
    for leaf in without(floating, pieces):
        pieces += by_value.lookup(indexed, leaf) if leaf.stored.ndim > 1 else []
    for leaf in without(floating, pieces):
        pieces += beside(tensors, leaf, pieces, paths) or by_value.lookup(indexed, leaf)
    rest = without(floating, pieces)
    constant = {name: tensors[name] for name in tensors if name not in indexed.varied}
    pieces += by_name.constants(constant, rest, by_name.scored(paths, pieces), pieces)
    pieces += by_name.tied(constant, without(rest, pieces), names or {}, pieces)
    pieces += list(summed_zeros(tensors, pieces))
    used = {piece.name for piece in pieces}
    return (
        WeightMap(tuple(pieces), tuple(map(np.asarray, leaves)), tensors, tuple(paths)),
        [name for name in tensors if name not in used],
        [leaf.path for leaf in without(rest, pieces) if leaf.stored.size],
    )
