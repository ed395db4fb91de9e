"""Write `slope = jax.grad(f)(x)` for a gradient with respect to one argument."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.scope import Written


def with_idioms(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with the gradient of one argument as an array, not as a tuple of one."""
    for written in functions:
        _One().visit(written.node)
    return list(functions)


class _One(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and len(target.elts) == 1 and _is_of_one(node.value):
            node.targets, node.value = [target.elts[0]], _of_array(node.value)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        first = isinstance(node.slice, ast.Constant) and node.slice.value == 0
        return _of_array(node.value) if first and _is_of_one(node.value) else node


def _is_of_one(code: ast.expr) -> bool:
    """Return whether an expression is `jax.grad(f, (0,))(x)`."""
    if not isinstance(code, ast.Call) or not isinstance(code.func, ast.Call):
        return False
    inner = code.func
    is_grad = syntax.text(inner.func) == "jax.grad" and len(inner.args) == 2
    return is_grad and not inner.keywords and syntax.text(inner.args[1]) == "(0,)"


def _of_array(code: Any) -> ast.Call:
    return ast.Call(syntax.call("jax.grad", code.func.args[0]), code.args, code.keywords)
