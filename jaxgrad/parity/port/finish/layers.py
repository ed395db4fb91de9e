"""Write `F.conv2d(x, **p["conv"])` where a call takes every tensor of a module by its name."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.written import Written


def with_whole_params(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with the params of one module passed together."""
    for written in functions:
        for node in ast.walk(written.node):
            if isinstance(node, ast.Call):
                _pass_whole(node)
    return list(functions)


def _pass_whole(call: ast.Call) -> None:
    parameters = list(syntax.parameters_of(call).values())
    if not parameters or any(isinstance(a, ast.Starred) for a in call.args):
        return
    start = len(call.args)
    while start and _is_own(call.args[start - 1], parameters[start - 1].name):
        start -= 1
    tensors = call.args[start:]
    if any(p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) for p in parameters):
        return
    if not tensors or any(k.arg is None for k in call.keywords):
        return
    module = tensors[0].value  # pyright: ignore[reportAttributeAccessIssue]
    parts = [part for x in tensors if (part := on_expression(x).part) is not None]
    same = all(syntax.same(x.value, module) for x in tensors)  # pyright: ignore[reportAttributeAccessIssue]
    if same and {part.name for part in parts} == parts[0].siblings:
        call.args = call.args[:start]
        call.keywords.insert(0, ast.keyword(None, module))


def _is_own(code: ast.expr, name: str) -> bool:
    """Return whether an argument is the tensor of a module that has the parameter's name."""
    part = on_expression(code).part
    is_named = isinstance(code, ast.Subscript) and isinstance(code.slice, ast.Constant)
    return is_named and part is not None and part.siblings is not None and part.name == name
