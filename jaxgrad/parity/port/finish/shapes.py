"""Say the shapes of arguments and results in the docstrings of a port, from an abstract run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import export

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port import draws
from jaxgrad.parity.port.mode_expressions import TRAINING


FIRST = "N"  # the first size of the inputs
NEW_PARAMS = "new p"  # a key that no argument has: the function also returns its new params
NOTE = "Shapes are those of the example inputs, with N for their first size."
Shapes = dict[str, Any]  # the shape of each argument, or None; `return` has those of the results


def shapes_of(
    space: Mapping[str, Any], entry: str, params: PyTree, inputs: PyTree
) -> dict[str, str]:
    """Return what to say of each function of a port that runs on the inputs: name -> text.

    Args:
        space: The names that the source defines.
        entry: The function of the module.
        params: Its params.
        inputs: A tuple of arrays, or a mapping for named arguments.
    """
    for structs in (_with_symbol(inputs), _structs(inputs)):
        calls: dict[str, Shapes] = {}
        try:
            _run(dict(space), entry, params, structs, calls)
        except Exception:  # the port cannot run with a size that is a symbol
            continue
        return {name: text for name, shapes in calls.items() if (text := _text(shapes))}
    return {}


def _structs(inputs: PyTree) -> PyTree:
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, _dtype(x)), inputs)


def _dtype(array: np.ndarray) -> Any:
    return jax.dtypes.canonicalize_dtype(array.dtype)


def _with_symbol(inputs: PyTree) -> PyTree:
    """Return the inputs' shapes with a symbol for the first size of the first input."""
    sizes = [x.shape[0] for x in jax.tree.leaves(inputs) if x.ndim]
    (symbol,) = export.symbolic_shape(FIRST)

    def struct(array: np.ndarray) -> jax.ShapeDtypeStruct:
        first, *rest = array.shape or (None,)
        shape = (symbol, *rest) if first is not None and first == sizes[0] else array.shape
        return jax.ShapeDtypeStruct(shape, _dtype(array))

    return jax.tree.map(struct, inputs)


def _run(
    space: dict[str, Any], entry: str, params: PyTree, inputs: PyTree, calls: dict[str, Shapes]
) -> None:
    """Trace the entry, with every function of the port recording its calls."""
    scope = space[entry].__globals__
    originals = {n: f for n, f in scope.items() if inspect.isfunction(f) and n != draws.SPLIT}
    own = {n: f for n, f in originals.items() if f.__globals__ is scope}
    scope.update({name: _recorded(name, function, calls) for name, function in own.items()})
    try:
        signature = inspect.signature(own[entry])
        options: dict[str, Any] = {TRAINING: False} if TRAINING in signature.parameters else {}
        key = signature.parameters.get(draws.RNG)
        if key is not None and key.default is key.empty:
            options[draws.RNG] = jax.random.key(0)
        function = functools.partial(scope[entry], **options)
        structs = _structs(params)
        if isinstance(inputs, Mapping):
            jax.eval_shape(lambda p, named: function(p, **named), structs, dict(inputs))
        else:
            jax.eval_shape(function, structs, *inputs)
    finally:
        scope.update(originals)


def _recorded(name: str, function: Callable[..., Any], calls: dict[str, Shapes]) -> Any:
    parameters = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        bound = parameters.bind(*args, **options)
        bound.apply_defaults()
        given = bound.arguments
        kept = {k: v for k, v in given.items() if k != "p" and not draws.is_key(k)}
        is_state = isinstance(result, tuple) and len(result) == 2 and _alike(result[1], given)
        shapes = {k: _shape(v) for k, v in kept.items()}
        shapes["return"] = _shape(result[0] if is_state else result)
        shapes[NEW_PARAMS] = ([], "") if is_state else None
        calls[name] = _common(calls[name], shapes) if name in calls else shapes
        return result

    return call


def _alike(result: Any, given: Mapping[str, Any]) -> bool:
    """Return whether a result is a function's params with new buffers."""
    params = given.get("p")
    return isinstance(params, dict | list) and jax.tree.structure(params) == jax.tree.structure(
        result
    )


def _shape(value: Any) -> Any:
    """Return the shape of an array as texts, with its dtype's class unless that is floating."""
    if isinstance(value, jax.Array):
        return [*map(str, value.shape)], {"i": " int", "b": " bool", "c": " complex"}.get(
            value.dtype.kind, ""
        )
    if isinstance(value, tuple | list):
        return [_shape(x) for x in value]
    if isinstance(value, dict):
        return {k: _shape(v) for k, v in value.items()}
    return None


def _common(left: Any, right: Any) -> Any:
    """Return what two calls have in common: sizes that differ are `_`."""
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        return {k: _common(left[k], right[k]) for k in left}
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [_common(a, b) for a, b in zip(left, right, strict=True)]
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left[0]) == len(right[0]):
        sizes = [a if a == b else "_" for a, b in zip(left[0], right[0], strict=True)]
        return sizes, left[1] if left[1] == right[1] else ""
    return None


def _text(shapes: Shapes) -> str:
    """Return `x (N, 3), y (N,) int -> (N, 2) and the new p`."""
    results = shapes["return"]
    several = isinstance(results, list) and all(map(_parts, results))
    after = ", ".join(map(_parts, results)) if several else _parts(results)
    named = {k: _parts(v) for k, v in shapes.items() if k not in ("return", NEW_PARAMS)}
    before = ", ".join(f"{name} {text}" for name, text in named.items() if text)
    if after and shapes[NEW_PARAMS] is not None:
        after += " and the new p"
    if not before:
        return f"returns {after}" if after else ""
    return f"{before} -> {after}" if after else before


def _parts(shape: Any) -> str:
    if isinstance(shape, tuple):
        sizes, kind = shape
        if set(sizes[1:] or sizes) == {"_"}:
            return ""  # the calls have at most the size of the batch in common
        inner = f"{sizes[0]}," if len(sizes) == 1 else ", ".join(sizes)
        return f"({inner}){kind}"
    if isinstance(shape, dict):
        parts = [f"{k} {_parts(v)}" for k, v in shape.items() if _parts(v)]
        return f"{{{', '.join(parts)}}}" if parts else ""
    if isinstance(shape, Sequence) and shape and all(map(_parts, shape)):
        return f"[{', '.join(map(_parts, shape))}]"
    return ""
