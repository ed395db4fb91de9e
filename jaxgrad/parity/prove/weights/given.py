"""Read the weight map that the user wrote: a JAX path for each torch name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad._core import paths as _paths
from jaxgrad.parity.prove.users import ProofError, running
from jaxgrad.parity.prove.weights.linear import NotLinear, pieces_of
from jaxgrad.parity.prove.weights.map import Piece, WeightMap, everything


def from_mapping(
    mapping: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray],
    leaves: Sequence[np.ndarray],
    paths: Sequence[str],
) -> WeightMap:
    """Build the map from a dict: torch name -> path, (path, axes) or (path, function).

    A leaf that several names are sent to is the sum of what their functions return.
    """
    pieces: list[Piece] = []
    for name, target in mapping.items():
        if isinstance(target, tuple) and len(target) != 2:
            raise ProofError(
                f"weights= has {target!r} for {name!r}: give a path, (path, axes) or (path, "
                "function)"
            )
        path, transform = target if isinstance(target, tuple) else (target, None)
        if name not in tensors:
            raise ProofError(
                f"weights= contains {name!r}, which is not a tensor of the module. "
                + _paths.nearest(sorted(tensors), [name], "names")
            )
        if path not in paths:
            raise ProofError(
                _paths.no_match(f"weights= sends {name!r} to {path!r}, which", paths, [str(path)])
            )
        leaf = list(paths).index(path)
        numbers = np.arange(tensors[name].size).reshape(tensors[name].shape)
        try:
            if callable(transform):
                pieces += _by_function(name, tensors[name].shape, transform, leaf, leaves[leaf])
                continue
            numbers = numbers if transform is None else numbers.transpose(transform)
            _check_axes(name, path, numbers.shape, leaves[leaf].shape)
            index = numbers.reshape(leaves[leaf].shape)
        except (ValueError, TypeError) as error:
            raise ProofError(
                f"weights= sends {name!r} of shape {tensors[name].shape} to {path!r} of shape "
                f"{leaves[leaf].shape}, which does not fit: {error}"
            ) from None
        pieces.append(Piece(leaf, everything(leaves[leaf]), name, index))
    return WeightMap(tuple(pieces), tuple(map(np.asarray, leaves)), tensors, tuple(paths))


def _check_axes(name: str, path: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Check that a tensor has the axes of its leaf in the leaf's order, if it has as many.

    Raises:
        ProofError: Its axes are in another order, so that reshaping it would mix its elements.
    """
    if shape != wanted and len(shape) == len(wanted) and sorted(shape) == sorted(wanted):
        raise ProofError(
            f"weights= sends {name!r} to {path!r}, but its axes have the sizes {shape} and the "
            f"leaf's {wanted}: give the order of torch's axes too, as in ({path!r}, (1, 0)) for a "
            "transposed matrix"
        )


def _by_function(
    name: str, shape: tuple[int, ...], function: Callable[..., Any], number: int, leaf: np.ndarray
) -> list[Piece]:
    """Return the pieces of a function that rearranges a tensor, or that is linear in it."""

    def convert(tensors: Mapping[str, np.ndarray]) -> dict[int, np.ndarray]:
        with running(f"weights=: the function for {name!r}", keep=(ValueError,)):
            return {number: np.asarray(function(tensors[name]))}

    numbers = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    values = np.random.default_rng(31).standard_normal(shape)
    index = convert({name: numbers})[number].reshape(leaf.shape)
    in_range = index.dtype.kind in "iu" and np.all((index >= 0) & (index < numbers.size))
    if in_range and np.array_equal(
        convert({name: values})[number].reshape(leaf.shape), values.ravel()[index]
    ):
        return [Piece(number, everything(leaf), name, index)]
    try:
        return pieces_of(
            lambda tensors: {k: x.reshape(leaf.shape) for k, x in convert(tensors).items()},
            {name: shape},
        )
    except NotLinear:
        raise ProofError(
            f"weights=: the function for {name!r} neither rearranges the tensor nor is linear: "
            "pass a converter state_dict -> params, which may compute anything"
        ) from None
