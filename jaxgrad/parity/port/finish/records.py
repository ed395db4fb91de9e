"""Unpack a result with named fields: `x, mean, var = F.batch_norm(...)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import get_type_hints

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.written import Written


def with_unpacked_records(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with variables in place of a result's fields."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            _unpack(written.node)
    return list(functions)


def _unpack(function: ast.FunctionDef) -> None:
    for statement in list(function.body):
        fields = _fields(statement)
        if not fields or not isinstance(statement, ast.Assign):
            continue
        record = statement.targets[0].id  # pyright: ignore[reportAttributeAccessIssue]
        reads = [n for n in ast.walk(function) if syntax.is_name(n, record)]
        parts = [
            n for n in ast.walk(function)
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
            and n.value.id == record and n.attr in fields
        ]  # fmt: skip
        if len(reads) == len(parts) + 1 and {n.attr for n in parts} == set(fields):
            _assign_fields(statement, record, fields, function)


def _fields(statement: ast.stmt) -> tuple[str, ...]:
    """Return the fields of `result = F.batch_norm(...)`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return ()
    function = syntax.functional_of(statement.value)
    result = None if function is None else get_type_hints(function).get("return")
    return getattr(result, "_fields", ())


def _assign_fields(
    statement: ast.Assign, record: str, fields: Sequence[str], function: ast.FunctionDef
) -> None:
    after = function.body[function.body.index(statement) + 1 :]
    later = {name for s in after for name in syntax.names_in(s)} | {PARAMS}
    taken = syntax.all_names(function) - {record}
    known = [n for n in syntax.names_in(statement.value) if n not in later]
    variables = {f: syntax.unique(f, taken) for f in fields}
    if known and known[0] in {a.arg for a in function.args.args}:
        variables[fields[0]] = known[0]  # the argument is not needed any more
    stored: list[ast.expr] = [ast.Name(variables[f], ast.Store()) for f in fields]
    statement.targets = [ast.Tuple(stored, ast.Store())]
    _Read(record, variables).visit(function)


class _Read(ast.NodeTransformer):
    def __init__(self, record: str, variables: dict[str, str]) -> None:
        self.record, self.variables = record, variables

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if syntax.is_name(node.value, self.record):
            return syntax.name(self.variables[node.attr])
        self.generic_visit(node)
        return node
