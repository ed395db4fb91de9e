"""Infer the map of the weights: by value first, and what is constant by name.

`prove` then redraws all weights, which shows whether the constant ones were paired rightly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jaxgrad.parity.prove.weights import by_name as weights_by_name
from jaxgrad.parity.prove.weights.by_value import (
    ParamLeaf,
    Tensors,
    chunks,
    lookup,
    parts,
    sums,
    whole,
    without,
)
from jaxgrad.parity.prove.weights.map import Piece, WeightMap


def infer(
    tensors: Mapping[str, np.ndarray], leaves: Sequence[np.ndarray], paths: Sequence[str]
) -> tuple[WeightMap, list[str], list[str]]:
    """Find the map by value.

    Args:
      tensors: torch's floating parameters and buffers by name; tied ones under their first name.
      leaves: The array leaves of the JAX parameters.
      paths: Their names.

    Returns:
      The map, the torch tensors that are in no leaf, and the paths of leaves that hold no tensor.
    """
    indexed = Tensors(tensors)
    rest = [
        ParamLeaf(i, path, x)
        for i, (path, x) in enumerate(zip(paths, leaves, strict=True))
        if np.issubdtype(np.asarray(x).dtype, np.inexact)
    ]
    pieces: list[Piece] = []
    for leaf in rest:
        pieces += whole(indexed, leaf, {piece.name for piece in pieces})
    for step in (chunks, parts, sums, lookup):
        for leaf in without(rest, pieces):
            pieces += step(indexed, leaf)
    rest = without(rest, pieces)
    varied = {piece.name for piece in pieces} | set(indexed.varied)
    constant = {name: x for name, x in tensors.items() if name not in varied}
    pieces += weights_by_name.constants(constant, rest, weights_by_name.scored(paths, pieces))
    used = {piece.name for piece in pieces}
    return (
        WeightMap(tuple(pieces), tuple(map(np.asarray, leaves)), dict(tensors), tuple(paths)),
        [name for name in tensors if name not in used],
        [leaf.path for leaf in without(rest, pieces) if leaf.value.size],
    )
