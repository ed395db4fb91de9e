"""Python's own functions and the methods of containers, on values of the port."""

from __future__ import annotations

import ast
import collections
import copy
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.overrides
from torch import nn
from torch.jit._trace import is_tracing

from jaxgrad.parity.port import attributes, source, syntax
from jaxgrad.parity.port.binding import stop_all
from jaxgrad.parity.port.rules import operators
from jaxgrad.parity.port.scope import CallSite, Scope
from jaxgrad.parity.port.values import (
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
    code_of,
    is_dynamic,
    real_of,
)


Special = Callable[[CallSite], Value]


def special(function: Any) -> Special | None:
    """Return how a builtin is interpreted, or None if it is not one of those."""
    try:
        return _SPECIAL.get(function)
    except TypeError:
        return None


def _len(site: CallSite) -> Value:
    (value,) = site.args
    if isinstance(value, Tensor):
        return Size(len(value.real), syntax.item(syntax.attribute(code_of(value), "shape"), 0))
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
        if any(isinstance(x, Tensor) for x in site.args):
            raise site.refuse(
                f"{kind.__name__}() of a tensor: its value is not known when JAX traces; keep it "
                "as a tensor, or pass the number as an argument"
            )
        real = kind(*map(real_of, site.args))
        if not any(map(is_dynamic, site.args)):
            return Folded(real)
        if kind is int and isinstance(site.args[0].real, int):
            return site.args[0]
        return Size(real, syntax.call(_label(kind), *map(code_of, site.args)))

    return convert


def _label(function: Any) -> str:
    module = getattr(function, "__module__", "")
    return f"math.{function.__name__}" if module == "math" else function.__name__


def _extreme(kind: Any) -> Special:
    def choose(site: CallSite) -> Value:
        alone = len(site.args) == 1
        values = attributes.iterate(site.args[0], site.scope, site.node) if alone else site.args
        if any(isinstance(x, Tensor) for x in values):
            raise site.refuse(f"{kind.__name__}() of tensors; use torch.{kind.__name__}imum")
        real = kind(map(real_of, values), **{k: real_of(v) for k, v in site.keywords.items()})
        if not any(map(is_dynamic, values)):
            return Folded(real)
        return Size(real, syntax.call(kind.__name__, *map(code_of, values)))

    return choose


def _sum(site: CallSite) -> Value:
    values = attributes.iterate(site.args[0], site.scope, site.node)
    if not any(map(is_dynamic, values)):
        return Folded(sum(map(real_of, values), *map(real_of, site.args[1:])))
    if site.args[0].code is not None and len(site.args) == 1:
        real = sum(map(real_of, values))
        code = syntax.call("sum", code_of(site.args[0]))
        return Tensor(real, code) if isinstance(real, torch.Tensor) else Size(real, code)
    total = site.args[1] if len(site.args) > 1 else None
    for value in values:
        total = value if total is None else _plus(total, value)
    assert total is not None
    return total


def _plus(left: Value, right: Value) -> Value:
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return operators.binary(ast.Add(), lambda a, b: a + b, left, right)
    return Size(left.real + right.real, ast.BinOp(code_of(left), ast.Add(), code_of(right)))


def _container(kind: type) -> Special:
    def make(site: CallSite) -> Value:
        if not site.args:
            return Items(kind, None, [])
        value = site.args[0]
        items = attributes.iterate(value, site.scope, site.node)
        if isinstance(value, Items) and value.code is not None and kind is tuple:
            new = copy.copy(value)
            new.real = kind
            return new
        return Items(kind, None, list(items))

    return make


def _dict(site: CallSite) -> Value:
    fields: dict[Any, Value] = {}
    if site.args and isinstance(site.args[0], Fields):
        fields |= {k: site.args[0].at(k) for k in site.args[0].fields}
    elif site.args:
        for pair in attributes.iterate(site.args[0], site.scope, site.node):
            key, value = attributes.iterate(pair, site.scope, site.node)
            fields[real_of(key)] = value
    return Fields(dict, None, fields | site.keywords)


def _quantified(kind: Any) -> Special:
    def ask(site: CallSite) -> Value:
        values = attributes.iterate(site.args[0], site.scope, site.node)
        if any(isinstance(x, Tensor) for x in values):
            raise site.refuse(f"{kind.__name__}() of tensors depends on their values")
        return Folded(kind(map(real_of, values)))

    return ask


def _abs(site: CallSite) -> Value:
    if isinstance(site.args[0], Tensor):
        return Tensor(abs(site.args[0].real), syntax.call("F.abs", code_of(site.args[0])))
    return _number(abs)(site)


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
    return Items(tuple, None, attributes.iterate(site.args[0], site.scope, site.node))


def _zip(site: CallSite) -> Value:
    rows = zip(*(attributes.iterate(x, site.scope, site.node) for x in site.args), strict=False)
    return Items(list, None, [Items(tuple, None, list(row)) for row in rows])


def _enumerate(site: CallSite) -> Value:
    items = attributes.iterate(site.args[0], site.scope, site.node)
    return Items(list, None, [Items(tuple, None, [Folded(n), x]) for n, x in enumerate(items)])


def _reversed(site: CallSite) -> Value:
    return Items(list, None, attributes.iterate(site.args[0], site.scope, site.node)[::-1])


def _is_tensor(site: CallSite) -> Value:
    return Folded(isinstance(site.args[0], Tensor))


def container_method(
    owner: Items | Fields,
    name: str,
    args: list[Value],
    keywords: dict[str, Value],
    scope: Scope,
    node: ast.AST,
) -> Value:
    """Interpret a method of a list, tuple or dict."""
    if isinstance(owner, Items):
        return _list_method(owner, name, args, scope, node)
    if name == "get":
        key = real_of(args[0])
        return (
            owner.at(key) if key in owner.fields else (args[1] if len(args) > 1 else Folded(None))
        )
    if name == "pop":
        key = real_of(args[0])
        if key not in owner.fields:
            return args[1]
        value = owner.at(key)
        del owner.fields[key]
        return value
    if name in ("items", "values", "keys"):
        pairs = [(Folded(k), owner.at(k)) for k in owner.fields]
        if name == "items":
            return Items(list, None, [Items(tuple, None, list(pair)) for pair in pairs])
        return Items(list, None, [pair[name == "values"] for pair in pairs])
    if name == "update":
        new = args[0] if args else Fields(dict, None, keywords)
        assert isinstance(new, Fields)
        owner.fields |= {k: new.at(k) for k in new.fields}
        if owner.code is not None:
            scope.emit(
                ast.Expr(syntax.call(syntax.attribute(code_of(owner), "update"), code_of(new)))
            )
        return Folded(None)
    if name == "copy":
        return Fields(owner.real, None, {k: owner.at(k) for k in owner.fields})
    raise scope.refuse(f"the method {name!r} of a dict is not ported", node)


def _list_method(owner: Items, name: str, args: list[Value], scope: Scope, node: ast.AST) -> Value:
    if name in ("append", "extend"):
        added = stop_all(args[0]) if scope.no_grad else args[0]
        new = [added] if name == "append" else attributes.iterate(added, scope, node)
        owner.items += new
        if owner.code is not None:
            method = syntax.attribute(code_of(owner), name)
            scope.emit(ast.Expr(syntax.call(method, code_of(added))))
        return Folded(None)
    if name == "numel":
        return Size(
            math.prod(x.real for x in owner.items), syntax.call("math.prod", code_of(owner))
        )
    if name in ("index", "count"):
        return Folded(getattr([real_of(x) for x in owner.items], name)(*map(real_of, args)))
    if name == "pop" and owner.code is None:
        return owner.items.pop(*map(real_of, args))
    raise scope.refuse(
        f"the method {name!r} of a list is not ported; append to it or index it", node
    )


def _super(site: CallSite) -> Value:
    function = site.scope.source.function
    owner = next(iter(site.scope.values.values()), None)
    kind = source.free_names(function).get("__class__")
    if not isinstance(owner, Module | Object) or kind is None:
        raise site.refuse("super() outside of a method of a module; name the class")
    if site.args:
        kind, owner = real_of(site.args[0]), site.args[1]
    return Parent(kind, None, owner)


def _module_type(site: CallSite) -> Value:
    value = site.args[0]
    if isinstance(value, Module):
        return Folded(type(value.real))
    return Folded(type(real_of(value)))


_MATH = (math.sqrt, math.ceil, math.floor, math.log, math.log2, math.exp, math.prod)
_SPECIAL: dict[Any, Special] = {
    len: _len, isinstance: _isinstance, getattr: _getattr, hasattr: _hasattr, int: _number(int),
    float: _number(float), bool: _number(bool), round: _number(round), min: _extreme(min),
    max: _extreme(max), sum: _sum, tuple: _container(tuple), list: _container(list), dict: _dict,
    collections.OrderedDict: _dict,
    callable: _callable,
    any: _quantified(any), all: _quantified(all), abs: _abs, print: _nothing, zip: _zip,
    enumerate: _enumerate, reversed: _reversed, super: _super, type: _module_type,
    torch.overrides.has_torch_function: _no, torch.overrides.has_torch_function_unary: _no,
    torch.overrides.has_torch_function_variadic: _no, torch.Size: _size,
    torch.finfo: _limits, torch.iinfo: _limits, torch.is_tensor: _is_tensor,
    torch._assert: _nothing, is_tracing: _is_tracing,
    torch.compiler.is_compiling: _is_tracing, torch.compiler.is_exporting: _is_tracing,
    nn.Module.__call__: _super,
    **{f: _number(f) for f in _MATH},
}  # fmt: skip
