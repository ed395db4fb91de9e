"""Paths in the tree of params: `p["layers"][0]`.

Each function has the params of its module in the variable `p`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxgrad.parity.port.ir import Param
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.syntax import item, name


PARAMS = "p"


def params() -> ast.Name:
    """Return the params of a function."""
    return name(PARAMS)


def is_params(code: ast.AST | None) -> bool:
    """Return whether an expression is the params of a function."""
    return isinstance(code, ast.Name) and code.id == PARAMS


def of(code: ast.expr) -> Param:
    """Return the part of the params that `p["layers"][0]` is.

    The owner is "" if the expression does not begin with a variable.
    """
    path: list[str | int] = []
    while isinstance(code, ast.Subscript) and isinstance(code.slice, ast.Constant):
        path.insert(0, code.slice.value)  # pyright: ignore[reportArgumentType]
        code = code.value
    return Param(tuple(path), code.id if isinstance(code, ast.Name) else "")


def keys_of(path: str) -> list[int | str]:
    """Return the keys of a path in the params; digits are places in lists."""
    return [int(part) if part.isdigit() else part for part in path.split(".")]


def reach(path: str, base: ast.expr | None = None) -> ast.expr:
    """Return the expression of a tensor by its path in the params, or below `base`."""
    code: ast.expr = base or params()
    for key in keys_of(path):
        code = item(code, key)
    return code


def copied(variable: str, places: Sequence[ast.expr]) -> ast.expr:
    """Return the expression that copies params, as deep as they change.

    Args:
        variable: The variable of the params.
        places: The parts that change, such as `p["norm"]`.
    """
    keys = [keys_to(place) for place in places]
    if any(len(each) > 1 for each in keys):
        same = ast.Lambda(syntax.function("_", ["x"], []).args, name("x"))
        return syntax.call("jax.tree.map", same, name(variable))
    key = keys[0][0]
    is_text = isinstance(key, ast.Constant) and isinstance(key.value, str)
    return syntax.call("dict" if is_text else "list", name(variable))


def keys_to(place: ast.expr) -> list[ast.expr]:
    """Return the keys of a part of the params, the outermost first."""
    return [*keys_to(place.value), place.slice] if isinstance(place, ast.Subscript) else []


def parts(node: ast.AST) -> Iterator[Param]:
    """Yield each part of the params that is read as a whole."""
    part = of(node) if isinstance(node, ast.expr) else Param((), "")
    if part.owner == PARAMS:
        yield part
    else:
        for inner in ast.iter_child_nodes(node):
            yield from parts(inner)
