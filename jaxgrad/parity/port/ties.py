"""Tied weights: one leaf of the params, which the entry puts in its second place too."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.scope import Written


def with_ties(
    functions: Sequence[Written], entry: Written, ties: Mapping[str, str]
) -> list[Written]:
    """Return the functions, with statements in the entry that put tied leaves in place."""
    if not ties:
        return list(functions)
    statements: list[ast.stmt] = []
    for alias, first in ties.items():
        value = syntax.reach(first)
        code = syntax.replaced(alias.split("."), syntax.name("p"), value)
        statement = ast.Assign([ast.Name("p", ast.Store())], code)
        statement.__dict__["trailing"] = "# tied"
        statements.append(statement)
    entry.node.body[:0] = statements
    return list(functions)
