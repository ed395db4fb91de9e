"""Name the results of a function in its docstring: `-> loss (), recon (N, 6)`."""

from __future__ import annotations

import ast

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.param_paths import is_params
from jaxgrad.parity.port.source.source import is_torch, source_of
from jaxgrad.parity.port.source.written import Written


def result_names(written: Written) -> list[str]:
    """Return the names of several results, where the port or the torch program has them."""
    if not written.base:
        return []
    nodes = [written.node]
    if not is_torch(written.function):
        nodes.append(source_of(written.function).node)
    found = [names for names in map(_names, nodes) if names]
    if len({len(names) for names in found}) != 1:
        return found[0] if found else []
    names = [next(filter(None, parts), "") for parts in zip(*found, strict=True)]
    return [n if names.count(n) == 1 else "" for n in names]


def _names(node: ast.AST) -> list[str]:
    """Return the names of what the last `return` of a function returns."""
    returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    if not returns or not isinstance(returns[-1], ast.Tuple):
        return []
    variables = syntax.assigned(node) | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    names = [_label(x, variables) for x in returns[-1].elts]
    return [n if names.count(n) == 1 else "" for n in names]


def _label(code: ast.expr, variables: set[str]) -> str:
    """Return `mu` of `mu`, `self.mu(h)`, `self.mu(h).clamp(0)`, `torch.exp(mu)` and `x["mu"]`."""
    if _is_loss(code):
        return "loss"
    while isinstance(code, ast.Call | ast.Subscript):
        inner = code.func if isinstance(code, ast.Call) else code.value
        if isinstance(code, ast.Subscript) and isinstance(code.slice, ast.Constant):
            key = code.slice.value
            if isinstance(key, str):
                return key if key.isidentifier() else ""
        root = inner
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(code, ast.Call) and isinstance(root, ast.Name) and root.id not in variables:
            if inner is root or not code.args:
                return ""
            code = code.args[0]  # of a function of a module
        elif isinstance(inner, ast.Attribute) and not _is_self(inner.value):
            code = inner.value
        else:
            code = inner
    if isinstance(code, ast.Attribute):
        return code.attr if _is_self(code.value) else ""
    known = isinstance(code, ast.Name) and code.id in variables and not is_params(code)
    return code.id if known else ""  # pyright: ignore[reportAttributeAccessIssue]


def _is_self(code: ast.expr) -> bool:
    return syntax.is_name(code, "self")


def _is_loss(code: ast.expr) -> bool:
    """Return whether an expression is a loss of `F`, or a sum of losses."""
    if isinstance(code, ast.BinOp) and isinstance(code.op, ast.Add):
        return _is_loss(code.left) or _is_loss(code.right)
    op = on_expression(code).computes  # none in torch's source
    label = syntax.called(code).rsplit(".", 1)[-1] if op is None else op.name
    return label.endswith("_loss") or "cross_entropy" in label
