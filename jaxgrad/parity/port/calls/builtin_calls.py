"""Python's own functions, on values of the port."""

from __future__ import annotations

import ast
import math
from typing import Any

import torch
import torch.overrides
from torch import nn
from torch.jit._trace import is_tracing

from jaxgrad.parity.port.calls import iteration_calls, legacy_tensors
from jaxgrad.parity.port.expressions import attributes, conditions, indexing, positions
from jaxgrad.parity.port.source import source, syntax
from jaxgrad.parity.port.values.lengths import is_counted, pinned
from jaxgrad.parity.port.values.scope import CallSite, Special
from jaxgrad.parity.port.values.value_types import (
    Closure,
    Fields,
    Folded,
    Items,
    Method,
    Module,
    Object,
    Parent,
    Size,
    Tensor,
    TensorMethod,
    Value,
    is_dynamic,
    size,
)
from jaxgrad.parity.port.values.values import code_of, computed, lift, real_of


def special(function: Any) -> Special | None:
    """Return how a builtin is interpreted, or None if it is not one of those."""
    try:
        return _SPECIAL.get(function)
    except TypeError:
        return None


def _len(site: CallSite) -> Value:
    (value,) = site.args
    if isinstance(value, Tensor):
        return Size(len(value.real), syntax.item(syntax.shape(code_of(value)), 0))
    if isinstance(value, Items) and syntax.is_shape(value.code) and value.items:
        if not source.is_torch(site.scope.source.function):
            return Size(len(value.items), syntax.ndim(value.code.value), of_ranks=True)
    if isinstance(value, Items) and value.counted:
        return Size(len(value.items), syntax.call("len", code_of(value)))
    if isinstance(value, Items | Fields):
        return Folded(len(value.items if isinstance(value, Items) else value.fields))
    return Folded(len(value.real))


def _isinstance(site: CallSite) -> Value:
    value, kinds = site.args
    return Folded(isinstance(real_of(value), real_of(kinds)))


def _getattr(site: CallSite) -> Value:
    value, name, *default = site.args
    if default and not _has(value, name.real):
        return default[0]
    return attributes.read(value, name.real, site.scope, site.node)


def _hasattr(site: CallSite) -> Value:
    return Folded(_has(site.args[0], site.args[1].real))


def _has(value: Value, name: str) -> bool:
    if isinstance(value, Fields) and value.real is not dict:
        return name in value.fields or hasattr(value.real, name)
    return hasattr(real_of(value), name)


def _number(kind: Any) -> Special:
    def convert(site: CallSite) -> Value:
        if kind is float and _is_count(site.args[0]):
            return Tensor(site.args[0].real.double(), code_of(site.args[0]))
        if kind is bool and isinstance(site.args[0], Tensor) and site.args[0].real.numel() == 1:
            if conditions.is_fixed_test(site.args[0]):
                return Folded(conditions.truth(site.args[0], site.node, site.scope))
            return Tensor(site.args[0].real.bool(), code_of(site.args[0]))
        if kind is int and len(site.args) == 1:
            found = positions.position(site.args[0], site.node, site.scope)
            if found is not None:
                return found
        if any(isinstance(x, Tensor) for x in site.args):
            raise site.refuse(
                f"{kind.__name__}() of a tensor: its value is not known when JAX traces; keep it "
                "as a tensor, or pass the number as an argument"
            )
        real = kind(*map(real_of, site.args))
        if not any(map(is_dynamic, site.args)):
            return computed(real, lambda *x: syntax.call(_label(kind), *x), *site.args)
        if kind is int and isinstance(site.args[0].real, int):
            return site.args[0]
        return Size(real, syntax.call(_label(kind), *map(code_of, site.args)))

    return convert


def _is_count(value: Value) -> bool:
    """Return whether a value is an integer of the run, such as `num_batches_tracked`."""
    is_tensor = isinstance(value, Tensor) and value.real.ndim == 0
    return is_tensor and not (value.real.is_floating_point() or value.real.is_complex())


def _label(function: Any) -> str:
    module = getattr(function, "__module__", "")
    return f"math.{function.__name__}" if module == "math" else function.__name__


def _extreme(kind: Any) -> Special:
    def choose(site: CallSite) -> Value:
        alone = len(site.args) == 1
        values = indexing.elements(site.args[0], site.scope, site.node) if alone else site.args
        if any(isinstance(x, Tensor) for x in values):
            raise site.refuse(f"{kind.__name__}() of tensors; use torch.{kind.__name__}imum")
        real = kind(map(real_of, values), **{k: real_of(v) for k, v in site.keywords.items()})
        is_whole = alone and is_counted(site.args[0], site.scope)
        if not is_whole and not any(map(is_dynamic, values)):
            return Folded(real)
        codes = [code_of(x) for x in (site.args if is_whole or len(values) == 1 else values)]
        options = {k: code_of(v) for k, v in site.keywords.items()}
        return size(real, syntax.call(kind.__name__, *codes, **options), *values)

    return choose


def _abs(site: CallSite) -> Value:
    if isinstance(site.args[0], Tensor):
        code = syntax.call_functional("abs", code_of(site.args[0]))
        return Tensor(abs(site.args[0].real), code)
    return _number(abs)(site)


def _text(site: CallSite) -> Value:
    if any(isinstance(x, Tensor) for x in site.args):
        raise site.refuse(
            "str() of a tensor depends on its values; leave the text out of the module"
        )
    return Folded(str(*(pinned(x, site.scope, site.node) for x in site.args)))


def _nothing(_: CallSite) -> Value:
    return Folded(None)


def _callable(site: CallSite) -> Value:
    (value,) = site.args
    is_function = isinstance(value, Closure | Module | Method | TensorMethod)
    return Folded(is_function or callable(value.real))


def _limits(site: CallSite) -> Value:
    """Return `torch.finfo(dtype)`, whose attributes are numbers of the port."""
    (dtype,) = site.args
    real = (torch.finfo if dtype.real.is_floating_point else torch.iinfo)(dtype.real)
    name = "jnp.finfo" if dtype.real.is_floating_point else "jnp.iinfo"
    return Folded(real, syntax.call(name, code_of(dtype)))


def _no(_: CallSite) -> Value:
    return Folded(False)


def _is_tracing(site: CallSite) -> Value:
    return Folded(site.scope.run.tracing)


def _size(site: CallSite) -> Value:
    return Items(tuple, None, list(indexing.iterate(site.args[0], site.scope, site.node)))


def _broadcast_shapes(site: CallSite) -> Value:
    """Return `torch.broadcast_shapes(...)`, whose numbers are computed from those of the shapes."""
    real = torch.broadcast_shapes(*map(real_of, site.args))
    if not any(map(is_dynamic, site.args)):
        return Items(tuple, None, [Folded(x) for x in real])
    return lift(real, syntax.call("jnp.broadcast_shapes", *map(code_of, site.args)))


def _equal(site: CallSite) -> Value:
    """Return `torch.equal(x, y)`, which is known for one tensor and for different shapes."""
    one, other = map(real_of, site.args)
    if one is other or one.shape != other.shape:
        return Folded(torch.equal(one, other))
    raise site.refuse(
        "torch.equal depends on the values of tensors; pass the answer as an argument"
    )


def _is_tensor(site: CallSite) -> Value:
    return Folded(isinstance(site.args[0], Tensor))


def _super(site: CallSite) -> Value:
    function = site.scope.source.function
    owner = next(iter(site.scope.values.values()), None)
    kind = source.free_names(function).get("__class__")
    if site.args:
        kind, owner = real_of(site.args[0]), site.args[1]
    if not isinstance(owner, Module | Object | Folded) or kind is None:
        raise site.refuse("super() outside of a method; name the class")
    return Parent(kind, None, owner)


def _annotated(site: CallSite) -> Value:
    return site.args[1]


def _slice(site: CallSite) -> Value:
    """Return `slice(a, b)`, whose bounds may be sizes."""
    parts = [Folded(None), *site.args] if len(site.args) == 1 else site.args
    if any(isinstance(x, Tensor) for x in parts):
        raise site.refuse(
            "a slice bound that is a tensor has no fixed size in JAX"
            "; pass the bound as a number, or mask the rest with torch.where"
        )
    real = slice(*map(real_of, parts))
    if not any(map(is_dynamic, parts)):
        return Folded(real)
    code = ast.Slice(*(None if x.real is None else code_of(x) for x in parts))
    return size(real, code, *parts)


def _module_type(site: CallSite) -> Value:
    value = site.args[0]
    if isinstance(value, Module):
        return Folded(type(value.real))
    return Folded(type(real_of(value)))


_MATH = tuple(f for f in vars(math).values() if callable(f) and f not in (math.fsum, math.dist))
_SPECIAL: dict[Any, Special] = {
    len: _len, str: _text, isinstance: _isinstance, getattr: _getattr, hasattr: _hasattr,
    int: _number(int), float: _number(float), bool: _number(bool), round: _number(round),
    min: _extreme(min),
    max: _extreme(max), abs: _abs, print: _nothing, callable: _callable, super: _super,
    type: _module_type, slice: _slice, torch.overrides.has_torch_function: _no,
    torch.overrides.has_torch_function_unary: _no,
    torch.overrides.has_torch_function_variadic: _no, torch.Size: _size,
    torch.broadcast_shapes: _broadcast_shapes,
    torch.finfo: _limits, torch.iinfo: _limits, torch.is_tensor: _is_tensor,
    torch.equal: _equal,
    torch.jit.annotate: _annotated, torch._assert: _nothing,
    vars(torch)["_assert_async"]: _nothing, is_tracing: _is_tracing,
    torch.compiler.is_compiling: _is_tracing, torch.compiler.is_exporting: _is_tracing,
    nn.Module.__call__: _super,
    **{f: _number(f) for f in _MATH}, **iteration_calls.SPECIAL,
    **legacy_tensors.SPECIAL,
}  # fmt: skip
