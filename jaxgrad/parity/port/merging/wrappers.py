"""Write a function at its calls if it is one short expression of torch's, such as `relu(x)`.

A method that only calls the `nn.Sequential` of its module gets the statements of the sequence.
"""

from __future__ import annotations

import ast
import copy
import pathlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from jaxgrad.parity.port.merging.redirection import calls_of
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import (
    copy_remarks,
    drop_remarks,
    has_remarks,
)
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


TORCH = str(pathlib.Path(torch.__file__).parent)
LONGEST = 60  # characters of an expression that is written at a call
SHORT = 2  # statements of a sequence that is written as one expression


def without_wrappers(functions: Sequence[Written]) -> list[Written]:
    """Return the functions without those that are written at their calls; the last is the entry."""
    kept = list(functions)
    called = {w: _called(w) for w in kept}
    for written in functions[:-1]:
        if not _is_movable(written) or written not in kept:
            continue
        _join(written.node)
        callers = [w for w in kept if written.name in called[w]]
        if _is_expression(written.node) and all(_can_take(w, written) for w in callers):
            for caller in callers:
                caller.node = _Inline(written).visit(caller.node)
        elif len(callers) == 1 and _only_calls(callers[0], written):
            _move(written, callers[0])
        else:
            continue
        kept.remove(written)
        called |= {w: _called(w) for w in callers}
    return kept


def _called(written: Written) -> set[str]:
    """Return the names of the functions of the port that a function calls."""
    calls = [n.func for n in ast.walk(written.node) if isinstance(n, ast.Call)]
    return {f.id for f in calls if syntax.is_written(f)}


def _is_movable(written: Written) -> bool:
    is_plain = isinstance(written.node, ast.FunctionDef) and written.hole is None
    in_torch = written.function.__code__.co_filename.startswith(TORCH)  # also a decorator's
    is_own = written.owner is not None and not is_torch(written.owner) and not in_torch
    if is_own or (is_torch(written.function) and written.owner and not is_torch(written.owner)):
        return False  # a class of the user keeps its function
    return is_plain and not written.pinned and (is_torch(written.function) or in_torch)


def _join(node: ast.FunctionDef) -> None:
    """Write `x = f(x)`, `x = g(x)` and `return x` as `return g(f(x))`, if that is short."""
    *before, last = node.body
    if not isinstance(last, ast.Return) or last.value is None or len(before) > SHORT:
        return
    value = last.value
    for statement in reversed(before):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Name) or syntax.names_in(value).count(target.id) != 1:
            return
        value = syntax.substitute(value, {target.id: statement.value})  # pyright: ignore[reportAttributeAccessIssue]
    if len(syntax.text(value)) <= LONGEST and not any(map(has_remarks, node.body)):
        node.body = [ast.Return(value)]


def _is_expression(node: ast.FunctionDef) -> bool:
    only = node.body[0]
    is_return = len(node.body) == 1 and isinstance(only, ast.Return) and only.value is not None
    return is_return and len(syntax.text(only)) <= LONGEST + len("return ")


def _can_take(caller: Written, written: Written) -> bool:
    """Return whether every use in a caller is a call whose arguments can replace the parameters."""
    uses = [n for n in ast.walk(caller.node) if syntax.is_written(n) and n.id == written.name]
    calls = calls_of(written.name, [caller])
    reads = Counter(syntax.names_in(written.node.body[0]))
    for call in calls:
        for parameter, argument in _arguments(written.node, call).items():
            if reads[parameter] > 1 and not isinstance(argument, ast.Name | ast.Constant):
                if not _is_place(argument):
                    return False
    return len(uses) == len(calls)


def _is_place(code: ast.expr) -> bool:
    """Return whether an expression is a part of the params: `p["norm"]`."""
    while isinstance(code, ast.Subscript) and isinstance(code.slice, ast.Constant):
        code = code.value
    return isinstance(code, ast.Name)


def _arguments(node: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    given = dict(zip((a.arg for a in node.args.args), call.args, strict=False))
    return given | {k.arg: k.value for k in call.keywords if k.arg is not None}


class _Inline(ast.NodeTransformer):
    def __init__(self, written: Written) -> None:
        self.written = written

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if not syntax.is_written(node.func) or node.func.id != self.written.name:
            return node
        arguments = _arguments(self.written.node, node)
        return syntax.substitute(self.written.node.body[0].value, arguments)


def _only_calls(caller: Written, written: Written) -> bool:
    """Return whether a function is one expression of a call `f(p["body"], x)`.

    The statements of the called function can then come before the expression.
    """
    if not isinstance(caller.node, ast.FunctionDef):
        return False
    (only, *more), calls = caller.node.body, calls_of(written.name, [caller])
    if more or not isinstance(only, ast.Return) or len(calls) != 1 or caller.pinned:
        return False
    arguments = _arguments(written.node, calls[0])
    names = {k: v.id for k, v in arguments.items() if isinstance(v, ast.Name)}
    assigned = {x for s in written.node.body for x in syntax.assigned(s)}
    rest = _without(only, calls[0])
    changes = {names.get(n, n) for n in assigned}
    own = {a.arg for a in (*caller.node.args.args, *caller.node.args.kwonlyargs)}
    fits = set(arguments) - {PARAMS} <= set(names)
    fits = fits and _is_place(arguments.get(PARAMS, param_paths.params()))
    ends = isinstance(written.node.body[-1], ast.Return)
    local = changes - set(names.values())
    return fits and ends and PARAMS not in assigned and not changes & set(rest) and not local & own


def _without(only: ast.Return, call: ast.Call) -> list[str]:
    """Return the names that an expression reads outside of a call in it."""
    rest = list(syntax.names_in(only))
    for name in syntax.names_in(call):
        rest.remove(name)
    return rest


def _move(written: Written, caller: Written) -> None:
    """Give a caller the statements of a function that its only expression calls."""
    node: ast.FunctionDef = caller.node
    (call,) = calls_of(written.name, [caller])
    only = node.body[-1]
    arguments = _arguments(written.node, call)
    arguments.pop(draws.RNG, None)  # the draws have keys of the caller
    renamed = {k: v.id for k, v in arguments.items() if isinstance(v, ast.Name) and k != PARAMS}
    places = {PARAMS: arguments[PARAMS]} if PARAMS in arguments else {}
    body = [copy.deepcopy(s) for s in written.node.body]
    body = [syntax.substitute(syntax.rename_variables(s, renamed), places) for s in body]
    *before, last = body
    only.value = syntax.with_part(only.value, call, last.value)  # pyright: ignore[reportAttributeAccessIssue]
    if before:
        copy_remarks(only, before[0])
        drop_remarks(only)
    node.body = [*before, only]
