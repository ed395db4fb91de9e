"""Write a function at its calls if it is one short expression of torch's, such as `relu(x)`.

A method that only calls the `nn.Sequential` of its module gets the statements of the sequence.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Sequence
from typing import Any

from jaxgrad.parity.port import draws, syntax
from jaxgrad.parity.port.scope import Written
from jaxgrad.parity.port.source import is_torch


LONGEST = 60  # characters of an expression that is written at a call
SHORT = 2  # statements of a sequence that is written as one expression


def without_wrappers(functions: Sequence[Written]) -> list[Written]:
    """Return the functions without those that are written at their calls; the last is the entry."""
    kept = list(functions)
    for written in functions[:-1]:
        if not _is_movable(written) or written not in kept:
            continue
        _join(written.node)
        callers = [w for w in kept if _calls(w, written.name)]
        if _is_expression(written.node) and all(_can_take(w, written) for w in callers):
            for caller in callers:
                caller.node = _Inline(written).visit(caller.node)
            kept.remove(written)
        elif len(callers) == 1 and _only_calls(callers[0], written):
            _move(written, callers[0])
            kept.remove(written)
    return kept


def _is_movable(written: Written) -> bool:
    is_plain = isinstance(written.node, ast.FunctionDef) and written.hole is None
    return is_plain and not written.pinned and is_torch(written.function)


def _calls(caller: Written, name: str) -> list[ast.Call]:
    return [
        node for node in ast.walk(caller.node)
        if isinstance(node, ast.Call) and syntax.is_written(node.func) and node.func.id == name
    ]  # fmt: skip


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
    if len(syntax.text(value)) <= LONGEST and not any(map(syntax.remarks, node.body)):
        node.body = [ast.Return(value)]


def _is_expression(node: ast.FunctionDef) -> bool:
    only = node.body[0]
    is_return = len(node.body) == 1 and isinstance(only, ast.Return) and only.value is not None
    return is_return and len(syntax.text(only)) <= LONGEST + len("return ")


def _can_take(caller: Written, written: Written) -> bool:
    """Return whether every use in a caller is a call whose arguments can replace the parameters."""
    uses = [n for n in ast.walk(caller.node) if syntax.is_written(n) and n.id == written.name]
    calls = _calls(caller, written.name)
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
    """Return whether a function is `return f(p["body"], x)`, and nothing changes the params."""
    if not isinstance(caller.node, ast.FunctionDef) or len(caller.node.body) != 1:
        return False
    only = caller.node.body[0]
    call = only.value if isinstance(only, ast.Return) else None
    if not isinstance(call, ast.Call) or call not in _calls(caller, written.name):
        return False
    first, *rest = call.args
    passed = [x.id if isinstance(x, ast.Name) else "" for x in rest]
    own = [a.arg for a in caller.node.args.args]
    is_direct = own[:1] == ["p"] and _is_place(first) and sorted(passed) == sorted(own[1:])
    changes = any("p" in syntax.assigned(s) for s in written.node.body)
    reads = [n for s in written.node.body for n in syntax.names_in(s)]
    starts = [a.arg for a in written.node.args.args][:1]
    return is_direct and not changes and starts == ["p"] and "p" in reads


def _move(written: Written, caller: Written) -> None:
    """Give a caller the statements of the only function that it calls."""
    node: ast.FunctionDef = caller.node
    (call,) = _calls(caller, written.name)
    arguments = _arguments(written.node, call)
    renamed = {
        parameter: code.id for parameter, code in arguments.items() if isinstance(code, ast.Name)
    }
    comments = node.body[0].__dict__.get("comments", [])
    body = [copy.deepcopy(s) for s in written.node.body]
    place = {"p": arguments["p"]}
    body = [syntax.substitute(syntax.rename_variables(s, renamed), place) for s in body]
    body[0].__dict__["comments"] = [*comments, *body[0].__dict__.get("comments", [])]
    draws.mark_splits(body)
    node.body = body
