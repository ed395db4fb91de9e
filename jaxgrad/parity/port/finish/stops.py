"""Leave out `lax.stop_gradient` around what is computed from stopped values alone."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.written import Written


MODULES = frozenset({"F", "jax", "jaxgrad", "jnp", "lax", "math", "np"})


def with_few_stops(functions: Sequence[Written]) -> list[Written]:
    """Return the functions without the stops that change no gradient.

    torch's `no_grad` region of several statements is one `lax.stop_gradient`, where its values
    come in.
    """
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            _visit(written.node.body, set())
    return list(functions)


def _visit(body: list[ast.stmt], stopped: set[str]) -> None:
    """Leave out stops in a block, before which the variables in `stopped` got stopped values."""
    kept: list[ast.stmt] = []
    for statement in body:
        new = syntax.assigned(statement)
        if isinstance(statement, ast.If | ast.For):
            is_loop = isinstance(statement, ast.For)
            _visit(statement.body, stopped - new if is_loop else set(stopped))
            _visit(statement.orelse, set(stopped))
            statement.body = statement.body or [ast.Pass()]
        inner = syntax.inside_stop(statement.value) if isinstance(statement, ast.Assign) else None
        if inner is None or not isinstance(statement, ast.Assign):
            stopped -= new
            kept.append(statement)
            continue
        reads = set(syntax.names_in(inner)) - MODULES
        if reads and reads <= stopped:
            statement.value = inner
        targets = {x.id for x in statement.targets if isinstance(x, ast.Name)}
        stopped |= targets
        if not (isinstance(statement.value, ast.Name) and targets == {statement.value.id}):
            kept.append(statement)
    body[:] = kept
