"""Interpret a Python function of the torch program, and write it as a function of the port."""

from __future__ import annotations

import ast
import types

from jaxgrad.parity.port.functions import closures, generators, inlined, rearranging
from jaxgrad.parity.port.functions.additions import add, is_entry
from jaxgrad.parity.port.functions.parameters import Arguments, bound_arguments
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.cleaning import cleaned
from jaxgrad.parity.port.source.naming import base_name, snake
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.port_names import renames
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.source import is_torch, source_of
from jaxgrad.parity.port.source.written import Assumption
from jaxgrad.parity.port.values import draws, state
from jaxgrad.parity.port.values.results import (
    lost_parts,
    outside,
    public,
    result_of,
    returned_code,
)
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Closure,
    Items,
    Module,
    Tensor,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of


DEEPEST = 60


def call_function(
    function: types.FunctionType,
    args: list[Value],
    keywords: dict[str, Value],
    scope: Scope,
    node: ast.AST,
    owner: type | None = None,
) -> Value:
    """Interpret a call of a Python function, and return the value of the call in the port.

    A function of torch itself that is one expression is written in its caller.
    """
    run = scope.run
    if len(run.scopes) > DEEPEST:
        raise scope.refuse(
            f"{function.__qualname__} calls itself more than {DEEPEST} times"
            "; write the recursion as a loop",
            node,
        )
    if function.__code__ in run.inlined and not is_entry(function, run):
        return inlined.run(function, args, keywords, scope, node)
    if scope.plain or function.__code__ in run.rearranging:
        return inlined.run(function, args, keywords, scope, node, plain=True)
    source = source_of(function)
    inner = Scope(run, source, {}, renamed=renames(source.node), code=function.__code__)
    passed = bound_arguments(function, args, keywords, inner, scope, node)
    inner.passed = passed
    inner.module = _module(inner)
    inner.stateful = (function.__code__, _path(inner)) in run.other_mode.stateful
    run.scopes.append(inner)
    try:
        result = closures.interpret(generators.as_list(source.node), inner)
    except PortError as error:
        if error.place is None:
            raise PortError(error.reason, inner.place()) from error
        raise
    finally:
        run.scopes.pop()
    rearranging.note(function, inner)
    if any(isinstance(x, Closure) and x.scope is inner for x in _parts_of(result)):
        if is_entry(function, run):
            raise inner.refuse("the module returns a function; return the values that it reads")
        return _leave(result, inner, function, passed, scope, node)
    return _write(result, inner, function, owner, passed, scope, node)


def _parts_of(result: Value) -> list[Value]:
    """Return the values of a tuple, or the one value of any other result."""
    return result.items if isinstance(result, Items) and result.code is None else [result]


def _leave(
    result: Value,
    inner: Scope,
    function: types.FunctionType,
    passed: Arguments,
    scope: Scope,
    node: ast.AST,
) -> Value:
    """Return nested functions to the caller: the port returns what they captured."""
    held: dict[str, Value] = {}

    def collect(name: str, value: Value) -> Value:
        if is_dynamic(value):
            held[syntax.unique(name, held)] = value
        return value

    for part in _parts_of(result):
        if isinstance(part, Closure):
            closures.moved(part, inner, collect)
        elif is_dynamic(part):
            collect(part.code.id if isinstance(part.code, ast.Name) else "part", part)
    new: dict[int, Value] = {}
    if held:
        carried = Items(tuple, None, list(held.values()))
        parts = _write(carried, inner, function, None, passed, scope, node, leaves=True)
        assert isinstance(parts, Items)
        for n, (name, old) in enumerate(held.items()):
            part = parts.at(n)
            new[id(old)] = renamed(part, scope.once(code_of(part), name))

    def outside(part: Value) -> Value:
        if isinstance(part, Closure):
            return closures.moved(part, scope, lambda _, value: new.get(id(value), value))
        return new.get(id(part), part)

    parts = [outside(x) for x in _parts_of(result)]
    return parts[0] if not isinstance(result, Items) else Items(result.real, None, parts)


def _write(
    result: Value,
    inner: Scope,
    function: types.FunctionType,
    owner: type | None,
    passed: Arguments,
    scope: Scope,
    node: ast.AST,
    leaves: bool = False,
) -> Value:
    """Add the function that was interpreted to the port, and return the value of its call."""
    run, path = scope.run, _path(inner)
    place = function.__code__, path
    arguments = dict(passed)
    if is_entry(function, run):
        result = public(result)
        run.lost += [Assumption(inner.place(), text) for text in lost_parts(result)]
    if run.classes is not None and is_torch(function):
        result = _unnamed(result, inner)
    returned = ast.Return(returned_code(result))
    if inner.stateful:
        returned = ast.Return(ast.Tuple([returned_code(result), param_paths.params()], ast.Load()))
    body = cleaned([*inner.body, returned])
    if (
        not inner.stateful
        and not is_entry(function, run)
        and place not in run.other_mode.written
        and _is_inline(function, body, passed, leaves)
    ):
        return result_of(outside(result, passed), syntax.substitute(returned.value, passed))
    inner.emit(returned)
    run.calls.written.add(place)
    if inner.stateful:
        run.calls.stateful.add(place)
    body = cleaned(inner.body)
    read = {name for statement in body for name in syntax.names_in(statement)}
    is_method = run.classes is not None and owner is not None and _module(inner) is not None
    if is_method:
        read.add(PARAMS)
    elif draws.RNG in read:
        passed[draws.RNG] = draws.key(key_label(function, owner, path))
    used = {name: code for name, code in passed.items() if name in read}
    written = add(function, owner, list(used), body, run, path)
    if is_method:
        written.pinned = True
        written.paths.add(path)
    code = syntax.call_written(written.name, *used.values())
    result = outside(result, arguments)
    on_expression(code).folded = inner.folded
    if inner.stateful:
        return result_of(result, state.call(result, code, passed[PARAMS], scope, node))
    if is_method:
        changes = inner.changes or bool(draws.keys(*body)) or syntax.change_variables(body)
        on_expression(code).changes = run.note_changing(place, changes)
    if inner.changes:
        scope.note_change()
        if not is_dynamic(result):  # no later expression has the call
            scope.emit(ast.Expr(code))
            return result
    return result_of(result, code)


def key_label(function: types.FunctionType, owner: type | None, path: str) -> str:
    """Return the name of a call's random key: that of the module's attribute, if it is one."""
    label = path.rpartition(".")[2]
    if owner is not None and label.isidentifier():
        return snake(label)
    return base_name(function, owner, path)


def _unnamed(result: Value, inner: Scope) -> Value:
    """Return the result of `x = relu(x); return x` as `relu(x)`, as a layer in place has it."""
    last = inner.body[-1] if len(inner.body) == 1 else None
    if not isinstance(last, ast.Assign) or not isinstance(result, Tensor):
        return result
    if not syntax.same(syntax.as_target(code_of(result)), last.targets[0]):
        return result
    inner.body.clear()
    return Tensor(result.real, last.value)


def _is_inline(
    function: types.FunctionType, body: list[ast.stmt], passed: Arguments, leaves: bool
) -> bool:
    """Return whether a call of torch's code, or of what returns a function, is one expression."""
    is_short = function.__name__ == "<lambda>" or is_torch(function) or leaves
    if not is_short or len(body) != 1:
        return False
    reads = syntax.names_in(body[0])
    for name, code in passed.items():
        simple = isinstance(code, ast.Name) or (name == PARAMS and reads.count(name) <= 2)
        if reads.count(name) > 1 and not simple:
            return False
    return True


def _module(scope: Scope) -> Module | None:
    """Return the module whose method a scope is, or that a function takes first."""
    first = next(iter(scope.values.values()), None)
    if isinstance(first, Items) and first.items and scope.run.classes is not None:
        first = first.items[0]  # of `*args`, in a decorator
    return first if isinstance(first, Module) else None


def _path(scope: Scope) -> str:
    module = scope.module
    if not isinstance(module, Module):
        return ""
    is_class = scope.run.classes is not None
    return scope.run.paths.get(id(module.real), module.path) if is_class else module.path
