"""Resolve the weight map: read it from `weights=`, or infer it from the values, and check it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgrad.parity.prove.record.adapters import as_function
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.lazy import Lazy
from jaxgrad.parity.prove.record.torch_side.side import TorchSide
from jaxgrad.parity.prove.users import ProofError
from jaxgrad.parity.prove.weights.by_value import varies
from jaxgrad.parity.prove.weights.converter import Converter
from jaxgrad.parity.prove.weights.given import from_mapping
from jaxgrad.parity.prove.weights.infer import infer
from jaxgrad.parity.prove.weights.likeness import likeness
from jaxgrad.parity.prove.weights.linear import NotLinear, pieces_of
from jaxgrad.parity.prove.weights.map import Piece, Tensors, WeightMap


_MOST_LISTED = 8  # leaves, and parameters


def weight_map(
    side: TorchSide,
    fn: Any,
    params: Any,
    weights: Callable[..., Any] | Mapping[str, Any] | None,
    returned: Callable[[Any], Returned] | None = None,
) -> tuple[Any, WeightMap]:
    """Return the JAX params and the map from torch's weights to them.

    A constant leaf that holds state may be without a tensor: the port may start its state from
    zeros where torch starts from ones. So may a leaf that the port never reads.

    Args:
        side: The torch model.
        fn: The JAX model, as the user gave it.
        params: Its params.
        weights: The argument `weights=`.
        returned: Function from params to what `fn` does with them. It is called if leaves are
            without a tensor.
    """
    names = [name for name, x in side.state.items() if _is_floating(x)]
    tensors = Lazy(names, lambda name: np.asarray(side.state[name]))
    if callable(weights):
        converted, mapped = _by_converter(Converter(weights, side, fn), tensors)
        _check_shapes(fn, params, converted)
        return converted, mapped
    model = as_function(fn, params)
    paths, leaves, _ = jax_program.flat(model.params, lambda _, x: _stored(x))
    if leaves or side.flags:  # a loss has no weights
        _check_leaves(params, paths, leaves)
    if isinstance(weights, Mapping):
        leaves = [jax_program.widened(x) for x in leaves]
        mapped = from_mapping(weights, tensors, leaves, paths)
        full = {p.leaf for p in mapped.pieces}
        extra = [paths[i] for i in range(len(leaves)) if i not in full and _is_floating(leaves[i])]
        missing = [n for n in tensors if not mapped.leaves_of(n)]
    else:
        mapped, missing, extra = infer(tensors, leaves, paths, side.names)
    fresh = [path for path in extra if not varies(leaves[paths.index(path)])]
    found = returned(params) if extra and returned is not None else Returned()
    if model.trained is not None:
        found = found._replace(paths=model.trained.state_of(paths))
    extra = [
        path
        for path in extra
        if path not in found.unread and not (path in fresh and path in found.paths)
    ]
    if extra:  # a weight that torch itself does not use needs no leaf
        trained = [n for n in missing if n in side.flags and not mapped.copy_of(n)]
        if isinstance(weights, Mapping):
            text = _incomplete(missing, extra)
        else:
            text = _unmapped(mapped, missing, extra, sorted(trained), is_nnx=model.is_nnx)
        raise ProofError(text + found.hint)
    return params, mapped


def _check_shapes(fn: Any, params: Any, converted: Any) -> None:
    """Check that a converter returns leaves with the shapes of those that were passed, if any.

    Raises:
        ProofError: A leaf has another shape.
    """

    def shapes_of(tree: Any) -> dict[str, tuple[int, ...]]:
        paths, leaves, _ = jax_program.flat(as_function(fn, tree).params)
        return dict(zip(paths, map(np.shape, leaves), strict=True))

    try:
        shapes, own = shapes_of(params), shapes_of(converted)
    except Exception:  # params that are passed beside a converter may be of another kind
        return
    wrong = [path for path, shape in shapes.items() if own.get(path, shape) != shape]
    if wrong:
        path, more = wrong[0], len(wrong) - 1
        others = f" (and {more} other {'leaf' if more == 1 else 'leaves'} too)" if more else ""
        raise ProofError(
            f"weights= returns the leaf {path!r} with the shape {own[path]}, but params has "
            f"{shapes[path]} there{others}: transpose or reshape it in the converter"
        )


class Returned(NamedTuple):
    """What the port does with its params: the leaves that it returns, and those it never reads."""

    paths: Collection[str] = ()  # of the leaves that it returns as its new state
    hint: str = ""  # how to return them
    unread: Collection[str] = ()  # of the leaves on which no output and no state depends


def _by_converter(converter: Converter, tensors: Tensors) -> tuple[Any, WeightMap]:
    """Return the params that a converter makes of random weights, and its map.

    Leaves that only rearrange torch's tensors are recognized by their values; linear leaves are
    recovered from more calls, and the others are differentiated.
    """
    values, others = _random(tensors, 0), _random(tensors, 1)
    params = converter.params(values)
    paths, leaves, _ = jax_program.flat(as_function(converter.fn, params).params)
    if leaves or params is None:  # an empty tree is right where torch uses none of its weights
        _check_leaves(params, paths, leaves, "weights= returned")
    mapped, _, _ = infer(values, leaves, paths)
    mapped = dataclasses.replace(mapped, tensors=tensors)
    actual = converter.leaves(others)
    if [x.shape for x in actual] != [x.shape for x in leaves]:
        raise ProofError("weights= returns other leaves for other weights")
    held = {piece.leaf for piece in mapped.pieces}
    wrong = [
        i
        for i, (x, y) in enumerate(zip(mapped.to_jax(others), actual, strict=True))
        if _is_floating(x) and (i not in held or not np.allclose(x, y, 1e-6, 1e-6))
    ]
    if not wrong:
        return params, mapped
    kept = [piece for piece in mapped.pieces if piece.leaf not in wrong]
    wrong = [i for i in wrong if not _is_fixed(leaves[i], actual[i])]
    rule = None
    try:
        kept += _linear(converter, wrong, tensors)
    except NotLinear as error:
        linear = [i for i in wrong if i not in error.leaves]
        kept += _linear(converter, linear, tensors) if linear else []
        rule = converter.rule(error.leaves, paths, others)
    computed = [i for i in wrong if not np.array_equal(leaves[i], actual[i])]
    narrow = {i for i in computed if actual[i].dtype not in (np.float64, np.complex128)}
    exact = {p.leaf for p in kept if _is_dyadic(p.scale)} - set(rule.names if rule else ())
    if narrow - exact:
        raise ProofError(
            f"weights= computes leaf {paths[min(narrow - exact)]!r} in "
            f"{actual[min(narrow - exact)].dtype}: keep the dtype of the state_dict, which prove "
            "passes in float64"
        )
    return params, dataclasses.replace(mapped, pieces=tuple(kept), rule=rule)


def _is_fixed(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether a leaf is a complex or infinite constant, which no piece describes."""
    described = not np.iscomplexobj(before) and np.isfinite(before).all()
    return not described and np.array_equal(before, after, equal_nan=True)


def _linear(converter: Converter, leaves: Sequence[int], tensors: Tensors) -> list[Piece]:
    return pieces_of(converter.pick(leaves), {name: x.shape for name, x in tensors.items()})


def _is_dyadic(scale: Any) -> bool:
    """Whether coefficients are exact in float32: multiples of 1/4096 up to 4096."""
    return bool(np.all(np.rint(np.multiply(scale, 4096)) == np.multiply(scale, 4096)))


def _random(tensors: Tensors, salt: int) -> dict[str, np.ndarray]:
    """Draw random weights that float32 represents, in which no two elements are equal.

    Tensors without negative elements, such as variances, get none.
    """
    rng = np.random.default_rng([17, salt])
    values = {}
    for name, x in tensors.items():
        draw = np.asarray(rng.standard_normal(x.shape), np.float32).astype(np.float64)
        if x.dtype.kind == "c":
            draw = draw + 1j * np.asarray(rng.standard_normal(x.shape), np.float32)
        positive = x.dtype.kind == "f" and np.min(x, initial=0.0) >= 0
        values[name] = np.abs(draw) if positive else draw
    return values


def _stored(x: Any) -> np.ndarray:
    """Return a float32 leaf as it is, and widen the others."""
    return np.asarray(x) if x.dtype == np.float32 else jax_program.widened(x)


def _check_leaves(
    params: Any, paths: Sequence[str], leaves: Sequence[np.ndarray], source: str = "params is"
) -> None:
    if not leaves:
        raise ProofError(
            f"params contains no array: pass the port's parameters, or weights= ({source} "
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


def _is_floating(x: Any) -> bool:
    return np.issubdtype(np.asarray(x).dtype, np.inexact)


def _incomplete(missing: Sequence[str], extra: Sequence[str]) -> str:
    """Explain which leaves a dict of the user leaves without a tensor."""
    path = extra[0]
    near = max(missing, key=lambda n: likeness(n, path), default=None)
    without = ", ".join(map(repr, missing[:_MOST_LISTED]))
    rest = len(missing) - _MOST_LISTED
    names = f"; the tensors without an entry are {without}"
    names = names if missing else ", and every tensor of torch has an entry"
    names += f" and {rest} more" if rest > 0 else ""
    add = f": add an entry, as in {{{near!r}: {path!r}}}" if near is not None else ""
    others = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
    return f"weights= sends no tensor to the leaf {path!r}{others}{names}{add}"


def _unmapped(
    mapped: WeightMap,
    missing: Sequence[str],
    extra: Sequence[str],
    trained: Sequence[str],
    *,
    is_nnx: bool = False,
) -> str:
    """Explain which leaves and which of torch's parameters have no counterpart."""
    lines = []
    for path in extra[:_MOST_LISTED]:
        leaf = mapped.leaves[mapped.paths.index(path)]
        near = max(missing, key=lambda n: likeness(n, path), default=None)
        hint = ""
        if near is not None and math.prod(mapped.shapes[near]) == leaf.size:
            hint = f"; torch's {near!r} has the same size but different values"
        lines.append(f"  JAX leaf {path!r} {list(leaf.shape)} holds no torch tensor{hint}")
    lines += _rest(extra, "JAX leaves hold no torch tensor")
    lines += [
        f"  torch's {name!r} {list(mapped.shapes[name])} is in no JAX leaf"
        for name in trained[:_MOST_LISTED]
    ]
    lines += _rest(trained, "of torch's parameters are in no JAX leaf")
    load = " (jaxgrad.nnx.load_state_dict(model, module.state_dict()))" if is_nnx else ""
    return (
        "the torch weights could not be matched with the JAX leaves:\n"
        + "\n".join(lines)
        + f"\nLoad the same checkpoint into both models{load}, or pass weights= (a converter, or a "
        "dict from torch names to paths)"
    )


def _rest(names: Sequence[str], text: str) -> list[str]:
    """Return the line that counts the names that are not listed."""
    count = len(names) - _MOST_LISTED
    return [f"  and {count} more {text}"] if count > 0 else []
