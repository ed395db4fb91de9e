"""Resolve the weight map: read it from `weights=`, or infer it from the values, and check it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.adapters import as_function
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.torch_side.side import TorchSide
from jaxgrad.parity.prove.users import ProofError, described, running
from jaxgrad.parity.prove.weights.given import from_mapping
from jaxgrad.parity.prove.weights.infer import infer
from jaxgrad.parity.prove.weights.likeness import likeness
from jaxgrad.parity.prove.weights.map import WeightMap


def weight_map(
    side: TorchSide, fn: Any, params: Any, weights: Callable[..., Any] | Mapping[str, Any] | None
) -> tuple[Any, WeightMap]:
    """Return the JAX params and the map from torch's weights to them."""
    tensors = {name: np.asarray(x) for name, x in side.state.items() if _is_floating(x)}
    values = tensors
    if callable(weights):
        params, values = _converted(weights, side, tensors, 0)
    paths, leaves, _ = jax_program.flat(as_function(fn, params).params)
    if not leaves:
        held = "weights= returned" if callable(weights) else "params is"
        raise ProofError(
            f"params contains no array: pass the port's parameters, or weights= ({held} "
            f"{type(params).__name__})"
        )
    odd = [
        p for p, x in zip(paths, leaves, strict=True) if np.asarray(x).dtype.kind not in "biufcV"
    ]
    if odd:
        raise ProofError(f"params: leaf {odd[0]!r} holds no numbers, but objects or strings")
    bad = [p for p, x in zip(paths, leaves, strict=True) if _is_floating(x) and np.isnan(x).any()]
    if bad:
        raise ProofError(f"the JAX weights are not finite: leaf {bad[0]!r} contains NaN")
    if isinstance(weights, Mapping):
        mapped = from_mapping(weights, tensors, leaves, paths)
        full = {p.leaf for p in mapped.pieces}
        extra = [paths[i] for i in range(len(leaves)) if i not in full and _is_floating(leaves[i])]
        missing = [n for n in tensors if not mapped.leaves_of(n)]
    else:
        mapped, missing, extra = infer(values, leaves, paths)
    if callable(weights) and not extra:
        _check_converter(weights, side, fn, mapped)
        mapped = dataclasses.replace(mapped, tensors=tensors)
    if extra:  # a weight that torch itself does not use needs no leaf
        trained = [n for n in missing if n in side.flags and not mapped.copy_of(n)]
        raise ProofError(_unmapped(mapped, missing, extra, sorted(trained)))
    return params, mapped


def _check_converter(
    convert: Callable[..., Any], side: TorchSide, fn: Any, mapped: WeightMap
) -> None:
    """Convert different weights and compare the result with the inferred map."""
    params, values = _converted(convert, side, mapped.tensors, 1)
    expected = mapped.to_jax(values)
    actual = jax_program.flat(as_function(fn, params).params)[1]
    for path, x, y in zip(mapped.paths, expected, actual, strict=True):
        if _is_floating(x) and not (x.shape == y.shape and np.allclose(x, y, 1e-6, 1e-6)):
            raise ProofError(
                "weights= may only permute, reshape or split tensors, but leaf "
                f"{path!r} has new values"
            )


def _converted(
    convert: Callable[..., Any], side: TorchSide, tensors: Mapping[str, np.ndarray], salt: int
) -> tuple[Any, dict[str, np.ndarray]]:
    """Convert random weights, in which no two elements are equal."""
    rng = np.random.default_rng([17, salt])
    values = {
        n: np.asarray(rng.standard_normal(x.shape), np.float32).astype(np.float64)
        for n, x in tensors.items()
    }
    state = side.state_dict(values)
    try:
        return convert(state), values
    except (TypeError, AttributeError):
        with running("weights=: the converter"):
            return convert({name: to_numpy(x) for name, x in state.items()}), values
    except KeyError as error:
        raise ProofError(
            f"weights= looked up {error}, but the state_dict has only {list(state)}"
        ) from error
    except Exception as error:
        raise ProofError(f"weights=: the converter raised {described(error)}") from error


def _is_floating(x: Any) -> bool:
    return np.issubdtype(np.asarray(x).dtype, np.inexact)


def _unmapped(
    mapped: WeightMap, missing: Sequence[str], extra: Sequence[str], trained: Sequence[str]
) -> str:
    """Explain which leaves and which of torch's parameters have no counterpart."""
    lines = []
    for path in extra[:8]:
        leaf = mapped.leaves[mapped.paths.index(path)]
        near = max(missing, key=lambda n: likeness(n, path), default=None)
        hint = ""
        if near is not None and mapped.tensors[near].size == leaf.size:
            hint = f"; torch's {near!r} has the same size but different values"
        lines.append(f"  JAX leaf {path!r} {list(leaf.shape)} holds no torch tensor{hint}")
    lines += [
        f"  torch's {name!r} {list(mapped.tensors[name].shape)} is in no JAX leaf"
        for name in trained[:8]
    ]
    return (
        "the torch weights could not be matched with the JAX leaves:\n"
        + "\n".join(lines)
        + "\nLoad the same checkpoint into both models, or pass weights= (a converter, or a dict "
        "from torch names to paths)"
    )
