"""Say the shapes of arguments and results in the docstrings of a port, from an abstract run."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import export

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.finish import sizes
from jaxgrad.parity.port.finish.letters import MORE, Letters, names_of_sizes
from jaxgrad.parity.port.finish.result_names import result_names
from jaxgrad.parity.port.modes.mode_expressions import TRAINING
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


STATE = "updated p"
Shape = tuple[tuple[Any, ...], str]  # the sizes, and the dtype's class unless it is floating


@dataclasses.dataclass
class Call:
    """One call of a function of the port.

    Attributes:
        arguments: The shape of each argument by its name.
        result: The shapes of what is returned.
        returns_params: Whether the function also returns its params, with new buffers.
    """

    arguments: dict[str, Any]
    result: Any
    returns_params: bool


def shapes_of(
    space: Mapping[str, Any], functions: Sequence[Written], params: PyTree, inputs: PyTree
) -> dict[str, str]:
    """Return what to say of each function of a port that runs on the inputs: name -> text.

    Args:
        space: The names that the source defines.
        functions: The functions of the port; the last one is the entry.
        params: The params of the module.
        inputs: A tuple of arrays, or a mapping for named arguments.
    """
    entry = functions[-1].name

    def record(structs: PyTree) -> dict[str, list[Call]]:
        calls: dict[str, list[Call]] = {}
        try:
            _run(dict(space), entry, params, structs, calls)
        except Exception:  # the port cannot run with a size that is a symbol
            return {}
        return calls

    with jax.enable_x64(False):  # the classes of the dtypes do not depend on it
        found = sizes.changing(inputs, lambda structs: bool(record(structs)))
        calls = record(found.structs)
        again = record(found.again) if found.numbers else calls
    calls = {name: part for name, part in calls.items() if _correspond(part, again.get(name, ()))}
    for name, part in calls.items():
        for call, other in zip(part, again[name], strict=True):
            pairs = {k: (x, other.arguments[k]) for k, x in call.arguments.items()}
            call.arguments = {k: _named(*pair, found) for k, pair in pairs.items()}
            call.result = _named(call.result, other.result, found)
    known = names_of_sizes(functions[::-1], calls)
    texts = {
        w.name: _text(calls[w.name], Letters(known, w, calls[w.name]), result_names(w))
        for w in functions
        if w.name in calls
    }
    return {name: text for name, text in texts.items() if text}


def _run(
    space: dict[str, Any], entry: str, params: PyTree, inputs: PyTree, calls: dict[str, list[Call]]
) -> None:
    """Trace the entry, with every function of the port recording its calls."""
    scope = space[entry].__globals__
    originals = {n: f for n, f in scope.items() if inspect.isfunction(f) and n != draws.SPLIT}
    own = {n: f for n, f in originals.items() if f.__globals__ is scope}
    for name, function in own.items():
        scope[name] = _recorded(function, calls.setdefault(name, []))
    try:
        signature = inspect.signature(own[entry])
        options: dict[str, Any] = {TRAINING: False} if TRAINING in signature.parameters else {}
        key = signature.parameters.get(draws.RNG)
        if key is not None and key.default is key.empty:
            options[draws.RNG] = jax.random.key(0)
        function = functools.partial(scope[entry], **options)
        structs = jax.tree.map(_struct, params)
        if isinstance(inputs, Mapping):
            jax.eval_shape(lambda p, named: function(p, **named), structs, dict(inputs))
        else:
            jax.eval_shape(function, structs, *inputs)
    finally:
        scope.update(originals)
        for name in [n for n, found in calls.items() if not found]:
            del calls[name]


def _struct(array: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))


def _recorded(function: Callable[..., Any], calls: list[Call]) -> Any:
    parameters = inspect.signature(function)
    known: dict[str, Any] = {}

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        label = str(jax.tree.map(_described, (args, options)))
        if label in known:  # such as the next layer of a stack
            return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), known[label])
        result = function(*args, **options)
        bound = parameters.bind(*args, **options)
        bound.apply_defaults()
        given = bound.arguments
        kept = {k: v for k, v in given.items() if k != draws.RNG and not _is_params(k, v)}
        is_state = isinstance(result, tuple) and len(result) == 2 and _alike(result[1], given)
        shapes = {k: _shape(v) for k, v in kept.items()}
        alone = _alike(result, given)
        outputs = None if alone else result[0] if is_state else result
        calls.append(Call(shapes, _shape(outputs), is_state or alone))
        if all(isinstance(x, jax.Array) for x in jax.tree.leaves(result)):
            known[label] = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), result)
        return result

    return call


def _is_params(name: str, value: Any) -> bool:
    """Return whether an argument is a tree of params, which has no shape to say."""
    return name == PARAMS or (
        isinstance(value, dict)
        and ("weight" in value or any(isinstance(x, dict | list) for x in value.values()))
    )


def _described(leaf: Any) -> Any:
    return f"{leaf.shape} {leaf.dtype}" if isinstance(leaf, jax.Array) else leaf


def _alike(result: Any, given: Mapping[str, Any]) -> bool:
    """Return whether a result is a function's params with new buffers."""
    params = given.get(PARAMS)
    return isinstance(params, dict | list) and jax.tree.structure(params) == jax.tree.structure(
        result
    )


def _shape(value: Any) -> Any:
    """Return the shape of an array, with its dtype's class unless that is floating.

    A size that is passed on is a text.
    """
    if isinstance(value, jax.Array):
        kind = {"i": " int", "b": " bool", "c": " complex"}.get(value.dtype.kind, "")
        return tuple(value.shape), kind
    if isinstance(value, tuple | list):
        return [_shape(x) for x in value]
    if isinstance(value, dict):
        return {k: _shape(v) for k, v in value.items()}
    is_size = type(value) is int or export.is_symbolic_dim(value)
    return str(value) if is_size else None


def _correspond(calls: Sequence[Call], again: Sequence[Call]) -> bool:
    """Return whether the calls of two runs differ in sizes only."""
    forms = [
        [str(jax.tree.map(_form, [c.arguments, c.result], is_leaf=_is_shape)) for c in part]
        for part in (calls, again)
    ]
    return forms[0] == forms[1]


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str)


def _form(shape: Any) -> Any:
    return (len(shape[0]), shape[1]) if _is_shape(shape) else type(shape)


def _named(shape: Any, again: Any, found: sizes.Sizes) -> Any:
    """Return a shape whose sizes are texts, from the shapes of the two runs."""
    if isinstance(shape, dict):
        return {k: _named(x, again[k], found) for k, x in shape.items()}
    if isinstance(shape, list):
        parts = [_named(x, y, found) for x, y in zip(shape, again, strict=True)]
        many = len(parts) > 4 and parts.count(parts[0]) == len(parts)
        return [parts[0], MORE] if many else parts
    if isinstance(shape, tuple):
        return tuple(map(found.text, shape[0], again[0])), shape[1]
    return found.text(shape, again) if isinstance(shape, str) else shape


def _text(calls: Sequence[Call], letters: Letters, names: Sequence[str]) -> str:
    """Return `x (N, 3), y (N,) int -> (N, 2), updated p`."""
    arguments = {
        name: letters.text([c.arguments.get(name) for c in calls]) for name in calls[0].arguments
    }
    before = ", ".join(f"{name} {text}" for name, text in arguments.items() if text)
    results = [c.result for c in calls]
    several = all(isinstance(x, list) and len(x) == len(results[0]) for x in results)
    several = several and MORE not in results[0]
    if several:
        parts = [letters.text([x[n] for x in results], new=True) for n in range(len(results[0]))]
        named = len(names) == len(parts)
        pairs = zip(names if named else [""] * len(parts), parts, strict=True)
        after = ", ".join(f"{n} {x}".strip() for n, x in pairs) if all(parts) else ""
    else:
        after = letters.text(results, new=True)
    if all(c.returns_params for c in calls):
        after = f"{after}, {STATE}" if after else STATE if not any(results) else ""
    if not before:
        return f"returns {after}" if after else ""
    return f"{before} -> {after}" if after else before
