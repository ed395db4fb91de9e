"""Give a value a name: in the torch program, and in the port if the port computes the value."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from jaxgrad.parity.port.ir import NameOf
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.views import is_part
from jaxgrad.parity.port.values import state
from jaxgrad.parity.port.values.results import method_names
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Closure,
    Fields,
    Folded,
    Items,
    Module,
    Object,
    Size,
    Tensor,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of, has_list, tensors_in


def bind(name: str, value: Value, scope: Scope) -> Value:
    """Assign a value to a local variable of both programs, and return it under its name."""
    if scope.no_grad and not isinstance(value, Tensor):
        value = stopped_parts(value)
    value = value if scope.plain else with_name(name, value)
    scope.values[name] = value
    if scope.plain and not tensors_in(value):
        return value
    if isinstance(value, Module | Closure) or not (is_dynamic(value) or has_list(value)):
        return value
    try:
        code = code_of(value)
    except PortError:
        _name_parts(name, value, scope)
        return value
    buffer = code if state.is_leaf(code) else None
    if isinstance(value, Tensor) and scope.no_grad:
        code = stopped(value, code)
    local = scope.local(name)
    if scope.plain or local in method_names(value):
        local = scope.fresh(name)  # a size, or `func = wrapped(func)`, still reads the old value
    target = scope.assign(local, code)
    scope.run.used.update(
        _module_paths(value)
    )  # they have a place in the params, even without a tensor
    if isinstance(value, Items | Fields) and value.code is None:
        for tensor in tensors_in(value):
            if state.is_leaf(tensor.code):
                tensor.view = tensor.code  # a change in place is a change of the params
        value.bind(target)  # the same object, because other names see what is appended to it
        return value
    bound = copy.copy(value)
    bound.code = target
    if isinstance(bound, Tensor):
        shares = value.real._base is not None and is_part(code)
        own = isinstance(target, ast.Name) and target.id in syntax.names_in(code)  # `x = x[0]`
        view = bound.view if isinstance(value.code, ast.Name) else None  # of the same memory
        bound.view = buffer or (code if shares and not own else view)
    scope.values[name] = bound
    return bound


def _module_paths(value: Value) -> set[str]:
    """Return the paths of the modules in a container."""
    if isinstance(value, Items | Fields):
        parts = value.items if isinstance(value, Items) else value.fields.values()
        return set().union(*map(_module_paths, parts))
    return {value.path} if isinstance(value, Module) else set()


def with_name(name: str, value: Value) -> Value:
    """Return configuration that a variable of the torch program holds."""
    if type(value) is not Folded or value.code is not None:
        return value
    known = value.number
    if known is None:
        return value.named(name, local=name)
    local = known.local if known.name_of is NameOf.VARIABLE else name
    return value.named(known.name or name, known.name_of, local)


def bind_results(names: Sequence[str], reals: Sequence[Any], code: ast.expr, scope: Scope) -> None:
    """Assign the tensors that a call returns to local variables: `a, b = code`."""
    locals_ = [scope.local(name) for name in names]
    targets: list[ast.expr] = [ast.Name(local, ast.Store()) for local in locals_]
    place = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
    scope.emit(ast.Assign([place], code))
    for name, local, real in zip(names, locals_, reals, strict=True):
        scope.values[name] = Tensor(real, syntax.name(local))


def stopped(value: Tensor, code: ast.expr) -> ast.expr:
    """Return the code of a tensor that is computed inside of `no_grad`."""
    has_gradient = value.real.is_floating_point() or value.real.is_complex()
    return syntax.stopped(code) if has_gradient and syntax.inside_stop(code) is None else code


def kept(name: str, value: Value, scope: Scope, *, lasting: bool = False) -> Value:
    """Return a value that is stored, under a name that no variable has.

    A variable may get another value later, and what is stored stays. A `lasting` name is not used
    again in the next iteration of a loop, so that each iteration of the loop keeps its own value.
    """
    if not isinstance(value, Tensor | Size) or (scope.plain and isinstance(value, Size)):
        return value
    code = code_of(value)
    used = any(
        isinstance(x.code, ast.Name) and isinstance(code, ast.Name) and x.code.id == code.id
        for x in scope.values.values()
    )
    if isinstance(code, ast.Name) and not used:
        if lasting:
            scope.lasting.add(code.id)
        return value
    if scope.no_grad and isinstance(value, Tensor):
        code = stopped(value, code)
    label = name if name.isidentifier() else "item"
    stored = scope.fresh(label)
    if lasting:
        scope.lasting.add(stored)
    return renamed(value, scope.assign(stored, code))


def stop_all(value: Value) -> Value:
    """Return a value that is computed inside of `no_grad`, with each of its tensors stopped."""
    if isinstance(value, Tensor):
        return Tensor(value.real, stopped(value, code_of(value)))
    if isinstance(value, Items) and isinstance(value.code, ast.Call | ast.ListComp):
        whole = copy.copy(value)
        whole.code = syntax.stopped(value.code)
        return whole
    if isinstance(value, Items):
        return Items(value.real, None, [stop_all(value.at(n)) for n in range(len(value.items))])
    if isinstance(value, Object):
        return value  # its attributes were stopped when they were set
    if isinstance(value, Fields):
        return Fields(value.real, None, {key: stop_all(value.at(key)) for key in value.fields})
    return value


def stopped_parts(value: Value) -> Value:
    """Return a container that is made inside of `no_grad`; a list stays the same object."""
    if isinstance(value, Items) and value.real is list and value.code is None:
        value.items[:] = [stop_all(x) for x in value.items]
        return value
    return stop_all(value)


def _name_parts(name: str, value: Value, scope: Scope) -> None:
    """Name each part of a container that cannot be written as one expression."""
    if isinstance(value, Items):
        value.items[:] = [_part(f"{name}_{n}", x, scope) for n, x in enumerate(value.items)]
    elif isinstance(value, Fields):
        for key, part in value.fields.items():
            label = f"{name}_{key}" if str(key).isidentifier() else name
            value.fields[key] = _part(label, part, scope)


def _part(name: str, value: Value, scope: Scope) -> Value:
    if not isinstance(value, Tensor | Size) or isinstance(value.code, ast.Name):
        return value
    return type(value)(value.real, scope.assign(scope.fresh(name), code_of(value)))
