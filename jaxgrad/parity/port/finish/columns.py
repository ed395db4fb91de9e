"""Name the results of several calls after the tuples that group them by their position.

For `a, b = zip(*(f(v) for v in (x, y)))`, the interpreter writes `parts = f(x)`, `parts_2 = f(y)`,
`a = parts[0], parts_2[0]` and `b = parts[1], parts_2[1]`. They become `a_0, b_0 = f(x)`,
`a_1, b_1 = f(y)`, `a = a_0, a_1` and `b = b_0, b_1`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.written import Written


_Column = tuple[tuple[str, ...], int]  # `parts[0], parts_2[0]`: the results, and the position


def with_named_columns(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with variables in place of the elements of grouped results."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            _name_columns(written.node)
    return list(functions)


def _name_columns(function: ast.FunctionDef) -> None:
    results = _results(function)
    groups: dict[tuple[str, ...], dict[int, str]] = {}
    repeated = set()
    for target, (row, position) in _columns(function, results):
        names = groups.setdefault(row, {})
        if position in names or target in names.values():
            repeated.add(row)
        names[position] = target
    reads = Counter(syntax.names_in(function))
    for row, names in groups.items():
        if row not in repeated and all(reads[result] == len(names) for result in row):
            _write(function, [(x, results[x]) for x in row], names)


def _results(function: ast.FunctionDef) -> dict[str, ast.Assign]:
    """Return the statements that name the tuple of a call, by the name, which is assigned once."""
    stores = Counter(syntax.stored_names(function))
    found: dict[str, ast.Assign] = {}
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign) and on_statement(statement).elements > 1:
            target = _place(statement)
            if isinstance(target, ast.Name) and stores[target.id] == 1:
                found[target.id] = statement
    return found


def _place(statement: ast.Assign) -> ast.expr:
    """Return the target of a result, which may be beside the params that the call returns."""
    target = statement.targets[0]
    if isinstance(target, ast.Tuple) and on_statement(statement).update is not None:
        return target.elts[0]
    return target


def _columns(
    function: ast.FunctionDef, results: Mapping[str, ast.Assign]
) -> Iterator[tuple[str, _Column]]:
    """Yield each tuple or list of one element of several results, and the variable it is for."""
    for statement in ast.walk(function):
        if not isinstance(statement, ast.Assign) or on_statement(statement).temporary:
            continue
        for target, value in _pairs(statement):
            for node in ast.walk(value):
                column = _column(node, results)
                if column is not None:
                    yield target, column


def _pairs(statement: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables that a statement assigns, each with its value."""
    match statement:
        case ast.Assign([ast.Name(name)], value):
            yield name, value
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
            for target, value in zip(targets, values, strict=True):
                if isinstance(target, ast.Name):
                    yield target.id, value


def _column(node: ast.AST, results: Mapping[str, ast.Assign]) -> _Column | None:
    if not isinstance(node, ast.Tuple | ast.List) or len(node.elts) < 2:
        return None
    parts = [_element(x) for x in node.elts]
    row = tuple(name for name, _ in parts)
    positions = {position for _, position in parts}
    if len(positions) > 1 or len(set(row)) < len(row) or not all(x in results for x in row):
        return None
    return row, positions.pop()


def _element(code: ast.expr) -> tuple[str, int]:
    """Return the variable and the position of `parts[0]`, and an empty name for other code."""
    match code:
        case ast.Subscript(ast.Name(name), ast.Constant(int(position))):
            return name, position
    return "", -1


def _write(
    function: ast.FunctionDef, row: Sequence[tuple[str, ast.Assign]], names: Mapping[int, str]
) -> None:
    """Unpack each result where it is assigned, and read the new variables."""
    taken = syntax.all_names(function) | RESERVED
    replaced: dict[str, dict[int, str]] = {}
    for number, (result, statement) in enumerate(row):
        new = {n: syntax.unique(f"{name}_{number}", taken) for n, name in names.items()}
        taken |= set(new.values())
        replaced[result] = new
        count = on_statement(statement).elements
        targets = [ast.Name(new.get(n, "_"), ast.Store()) for n in range(count)]
        place: ast.expr = ast.Tuple([*targets], ast.Store())
        match statement.targets[0]:
            case ast.Tuple([_, *rest]):
                place = ast.Tuple([place, *rest], ast.Store())
        statement.targets = [place]
        on_statement(statement).temporary, on_statement(statement).elements = False, 0
    _Read(replaced).visit(function)


class _Read(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, Mapping[int, str]]) -> None:
        self.names = names

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        name, position = _element(node)
        if position in self.names.get(name, ()):
            return syntax.name(self.names[name][position])
        self.generic_visit(node)
        return node
