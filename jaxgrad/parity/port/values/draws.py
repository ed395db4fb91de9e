"""Random draws: each gets a key of its own, which is split from the function's `rng`.

While an expression is built, a draw has a placeholder for its key. The statement that contains it
is preceded by `rng, dropout_rng = jax.random.split(rng)`.
"""

from __future__ import annotations

import ast
import re

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement


RNG = "rng"


def key(label: str) -> ast.Name:
    """Return the placeholder of the key of one draw."""
    placeholder = syntax.name(RNG)
    on_expression(placeholder).draw = label
    return placeholder


def placeholders(node: ast.AST) -> list[ast.Name]:
    """Return the keys that a statement needs, in the order of its source."""
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return [n for n in names if on_expression(n).draw is not None]


def split_for(statement: ast.stmt, taken: set[str]) -> ast.stmt | None:
    """Name the keys of a statement, and return the statement that splits them off."""
    found = placeholders(statement)
    if not found:
        return None
    names = []
    for placeholder in found:
        name = syntax.unique(f"{on_expression(placeholder).draw}_{RNG}", {*names, *taken})
        on_expression(placeholder).draw = None
        names.append(name)
        placeholder.id = name
    count = [syntax.constant(len(names) + 1)] if len(names) > 1 else []
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in (RNG, *names)]
    call = syntax.call("jax.random.split", syntax.name(RNG), *count)
    statement = ast.Assign([ast.Tuple(targets, ast.Store())], call)
    mark_splits([statement])
    return statement


def mark_splits(body: list[ast.stmt]) -> None:
    """Mark the statements that split `rng`."""
    for statement in body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            if syntax.text(statement.value.func) == "jax.random.split":
                on_statement(statement).splits = True


def taken_out(body: list[ast.stmt]) -> list[ast.stmt]:
    """Remove the statements that split `rng` from a nested function, and return them."""
    found = [s for s in body if on_statement(s).splits]
    body[:] = [s for s in body if not on_statement(s).splits]
    return found


SPLIT = "split_rng"
SPLIT_DOC = "Split a random key; in eval mode there is none."
SPLIT_SOURCE = f"""
def {SPLIT}(rng, num=2):
    return [None] * num if rng is None else jax.random.split(rng, num)
"""


def is_key(name: str) -> bool:
    """Return whether a variable of the port is a random key."""
    return re.fullmatch(r"(\w+_)?rng(_\d+)?", name) is not None
