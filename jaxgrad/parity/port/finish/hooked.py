"""Give a hooked parameter a name: `slow_weight = jaxgrad.hook(p["slow"]["weight"], f)`.

The interpretation puts the hooked parameter into a copy of the params, from which every function
reads it. Where the function itself is the only reader, a variable does.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from jaxgrad.parity.port.ir import Param
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import copy_remarks, on_expression, on_statement
from jaxgrad.parity.port.source.written import Written


def with_hooked_names(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with a variable for each hooked parameter that only they read."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            _name_hooked(written.node)
    return list(functions)


def _name_hooked(function: ast.FunctionDef) -> None:
    taken = syntax.all_names(function)
    for number, statement in enumerate(function.body):
        if not _is_hooked(statement):
            continue
        code = statement.value
        param = param_paths.of(_innermost(code))
        others = [n for n, s in enumerate(function.body) if n != number and not _is_hooked(s)]
        if any(_reads_around(function.body[n], param) for n in others):
            continue
        name = syntax.unique("_".join(map(str, param.path)), taken)
        taken.add(name)
        for n in others:
            function.body[n] = _Named(param, name).visit(function.body[n])
        new = ast.Assign([ast.Name(name, ast.Store())], code)
        copy_remarks(statement, new)
        function.body[number] = new


def _is_hooked(statement: ast.stmt) -> TypeGuard[ast.Assign]:
    update = on_statement(statement).update
    return update is not None and update.hooked


def _innermost(code: ast.expr) -> ast.expr:
    """Return the parameter that one hook or several are on."""
    while isinstance(code, ast.Call):
        code = code.args[0]
    return code


def _reads_around(statement: ast.stmt, param: Param) -> bool:
    """Return whether a statement reads a part of the params that a parameter is in."""
    inner = [
        n.value
        for n in ast.walk(statement)
        if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant)
    ]
    inner += [k.value for n in ast.walk(statement) for k in _whole(n)]
    reads = [n for n in ast.walk(statement) if isinstance(n, ast.Name | ast.Subscript)]
    parts = [_whole_part(n) for n in reads if not any(n is x for x in inner)]
    return any(param != part and param.is_in(part) for part in parts)


def _whole_part(code: ast.expr) -> Param:
    """Return the part of the params that code reads: for `p["layers"][i]`, all of the layers."""
    while isinstance(code, ast.Subscript) and not param_paths.of(code).owner:
        code = code.value
    return param_paths.of(code)


def _whole(node: ast.AST) -> list[ast.keyword]:
    """Return `**p["linear"]` of a call of `F` that takes each tensor of a module by its name."""
    keywords = node.keywords if isinstance(node, ast.Call) and syntax.functional_of(node) else []
    return [k for k in keywords if on_expression(k).tensors is not None]


class _Named(ast.NodeTransformer):
    """Read a variable in the place of a parameter, which a call may get with its siblings."""

    def __init__(self, param: Param, name: str) -> None:
        self.param, self.name = param, name

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and param_paths.of(node) == self.param:
            return syntax.name(self.name)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        for keyword in _whole(node):
            if param_paths.of(keyword.value).at(self.param.path[-1]) == self.param:
                node.keywords.remove(keyword)
                _pass_each(node, keyword.value, on_expression(keyword).tensors or frozenset())
        self.generic_visit(node)
        return node


def _pass_each(call: ast.Call, base: ast.expr, tensors: frozenset[str]) -> None:
    """Pass the tensors of a module one by one, by position as long as none is left out."""
    names = list(syntax.parameters_of(call))
    named: list[ast.keyword] = []
    for name in (n for n in names if n in tensors):
        if name == names[len(call.args)]:
            call.args.append(syntax.item(base, name))
        else:
            named.append(ast.keyword(name, syntax.item(base, name)))
    call.keywords[:0] = named
