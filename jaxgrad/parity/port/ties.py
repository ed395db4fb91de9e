"""Tied weights: one leaf of the params, which the entry puts in its second place too."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.scope import Written


def tie(entry: Written, ties: Mapping[str, str]) -> None:
    """Add the statements to the entry that put tied leaves in place."""
    statements: list[ast.stmt] = []
    for alias, first in ties.items():
        value = syntax.reach(first)
        code = syntax.replaced(alias.split("."), syntax.name("p"), value)
        statement = ast.Assign([ast.Name("p", ast.Store())], code)
        statement.__dict__["trailing"] = "# tied"
        statements.append(statement)
    entry.node.body[:0] = statements
