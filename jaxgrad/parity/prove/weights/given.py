"""The map of the weights where the user wrote it: the path of each torch name, and how it turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.prove.weights.map import Piece, WeightMap, everything


class WeightsError(ValueError):
    """The user's map names what is not there, or does not fit."""


def from_mapping(
    mapping: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray],
    leaves: Sequence[np.ndarray],
    paths: Sequence[str],
) -> WeightMap:
    """A map that the user wrote: torch name -> path, or (path, axes), or (path, function)."""
    pieces = []
    for name, target in mapping.items():
        path, how = target if isinstance(target, tuple) else (target, None)
        if name not in tensors:
            raise WeightsError(f"weights= names {name!r}; the module has {sorted(tensors)}")
        if path not in paths:
            raise WeightsError(f"weights= sends {name!r} to {path!r}; params has {list(paths)}")
        leaf = list(paths).index(path)
        places = np.arange(tensors[name].size).reshape(tensors[name].shape)
        try:
            if callable(how):
                places = np.asarray(how(places))
            elif how is not None:
                places = places.transpose(how)
            index = places.reshape(leaves[leaf].shape)
        except ValueError as error:
            raise WeightsError(
                f"weights= sends {name!r} of shape {tensors[name].shape} to {path!r} of shape "
                f"{leaves[leaf].shape}, which does not fit: {error}"
            ) from None
        pieces.append(Piece(leaf, everything(leaves[leaf]), name, index))
    return WeightMap(tuple(pieces), tuple(map(np.asarray, leaves)), dict(tensors), tuple(paths))
