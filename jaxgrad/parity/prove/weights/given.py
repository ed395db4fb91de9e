"""Read the weight map that the user wrote: a JAX path for each torch name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.prove.users import ProofError, running
from jaxgrad.parity.prove.weights.map import Piece, WeightMap, everything


def from_mapping(
    mapping: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray],
    leaves: Sequence[np.ndarray],
    paths: Sequence[str],
) -> WeightMap:
    """Build the map from a dict: torch name -> path, (path, axes) or (path, function)."""
    pieces = []
    for name, target in mapping.items():
        if isinstance(target, tuple) and len(target) != 2:
            raise ProofError(
                f"weights= has {target!r} for {name!r}: give a path, (path, axes) or (path, "
                "function)"
            )
        path, transform = target if isinstance(target, tuple) else (target, None)
        if name not in tensors:
            raise ProofError(
                f"weights= contains {name!r}, but the module's tensors are {sorted(tensors)}"
            )
        if path not in paths:
            raise ProofError(
                f"weights= sends {name!r} to {path!r}, but the leaves of params are {list(paths)}"
            )
        leaf = list(paths).index(path)
        numbers = np.arange(tensors[name].size).reshape(tensors[name].shape)
        try:
            if callable(transform):
                with running(f"weights=: the function for {name!r}", keep=(ValueError,)):
                    numbers = np.asarray(transform(numbers))
            elif transform is not None:
                numbers = numbers.transpose(transform)
            index = numbers.reshape(leaves[leaf].shape)
        except (ValueError, TypeError) as error:
            raise ProofError(
                f"weights= sends {name!r} of shape {tensors[name].shape} to {path!r} of shape "
                f"{leaves[leaf].shape}, which does not fit: {error}"
            ) from None
        pieces.append(Piece(leaf, everything(leaves[leaf]), name, index))
    return WeightMap(tuple(pieces), tuple(map(np.asarray, leaves)), dict(tensors), tuple(paths))
