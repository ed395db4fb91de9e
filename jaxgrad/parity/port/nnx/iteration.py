"""Let a class be iterated over if the port goes over a module of the user's own list class."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torch import nn

from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.param_paths import is_params
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values.parts import is_numbered


_ITERATION = """
def __iter__(self):
    return (getattr(self, str(number)) for number in range({}))
"""


def iterated(functions: Sequence[Written]) -> set[str]:
    """Return the paths of the modules over which loops go."""
    found: set[str] = set()
    for written in functions:
        for node in ast.walk(written.node):
            if isinstance(node, ast.For | ast.comprehension):
                found |= set(_reached(node.iter, written.paths))
    return found


def _reached(node: ast.AST, own: set[str]) -> Iterator[str]:
    """Yield the paths of the modules in an expression, whose `p` is that of the paths `own`."""
    part = on_expression(node).part
    if part is not None:
        yield part.path
    elif is_params(node):
        yield from own
    else:
        for inner in ast.iter_child_nodes(node):
            yield from _reached(inner, own)


def iteration(module: nn.Module) -> list[ast.FunctionDef]:
    """Return the method `__iter__` of a class whose parts are numbered; none for another."""
    if not is_numbered(module):
        return []
    (method,) = ast.parse(_ITERATION.format(len(module._modules))).body
    assert isinstance(method, ast.FunctionDef)
    return [method]
