"""Write each statement on one line where that is possible.

A result that is returned at once loses its name, the parts of a tuple get a line each, and a long
argument gets a statement of its own before the call.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence

from jaxgrad.parity.port.finish.part_names import PartNames
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import (
    copy_remarks,
    drop_remarks,
    move_comments,
    on_statement,
)
from jaxgrad.parity.port.source.line_breaks import WIDTH, operands
from jaxgrad.parity.port.source.param_paths import PARAMS, is_params
from jaxgrad.parity.port.source.spelling import statement_text, tidy
from jaxgrad.parity.port.source.writer import statement_lines
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


LONGEST = 50  # the longest result that is returned with the params without a name
SHORTEST = 16  # the shortest argument that gets a statement of its own


def with_short_lines(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with their long statements divided and their short ones joined."""
    nodes = {w.name: w.node for w in functions}
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            shorten(written.node, nodes)
    return list(functions)


def shorten(function: ast.FunctionDef, nodes: Mapping[str, ast.AST], indent: int = 4) -> None:
    """Divide the long statements of a function and join its short ones.

    Args:
        function: A function or method, which is changed.
        nodes: The functions of the file, by name.
        indent: The number of spaces before its statements.
    """
    taken = syntax.all_names(function) | set(nodes)
    variables = {a.arg for a in function.args.args} | syntax.assigned(function)
    names = PartNames(variables, taken, nodes)

    def visit(body: list[ast.stmt], indent: int) -> None:
        _join(body, indent)
        new: list[ast.stmt] = []
        for statement in body:
            for part in _untupled(statement, indent):
                new += _divided(part, indent, names)
        body[:] = new
        _join(body, indent)
        _apart(body, names)
        for statement in body:
            if isinstance(statement, ast.For | ast.If):
                visit(statement.body, indent + 4)
                visit(statement.orelse, indent + 4)

    visit(function.body, indent)


def _join(body: list[ast.stmt], indent: int) -> None:
    """Write `x = f(y)` and `return x` as `return f(y)`, if that fits on a line."""
    if len(body) < 2 or not isinstance(body[-1], ast.Return) or body[-1].value is None:
        return
    before, last = body[-2], body[-1]
    if not isinstance(before, ast.Assign) or not isinstance(before.targets[0], ast.Name):
        return
    name = before.targets[0].id
    whole = isinstance(last.value, ast.Name) or (
        isinstance(last.value, ast.Tuple) and isinstance(last.value.elts[0], ast.Name)
    )
    comments = (*on_statement(before).comments, *on_statement(last).comments)
    trailing = [on_statement(x).trailing for x in (before, last)]
    if not whole or syntax.names_in(last).count(name) != 1 or all(trailing):
        return
    if _is_long(before.value) and _is_with_params(last.value):
        return
    new = ast.Return(syntax.substitute(last.value, {name: before.value}))
    if _height(new, indent) == 1:
        on_statement(new).comments = comments
        on_statement(new).trailing = trailing[0] or trailing[1]
        body[-2:] = [new]


def _apart(body: list[ast.stmt], names: PartNames) -> None:
    """Write `return f(x), p` as `x = f(x)` and `return x, p`, if the call is long."""
    last = body[-1] if body else None
    if not isinstance(last, ast.Return) or not _is_with_params(last.value):
        return
    assert isinstance(last.value, ast.Tuple)
    first = last.value.elts[0]
    name = names.of(last, first, {PARAMS}) if _is_long(first) else None
    if name is not None:
        last.value.elts[0] = syntax.name(name)
        before = ast.Assign([ast.Name(name, ast.Store())], first)
        move_comments(last, before)
        body.insert(len(body) - 1, before)


def _is_with_params(code: ast.expr | None) -> bool:
    """Return whether a function returns its params with what it computes."""
    parts = code.elts if isinstance(code, ast.Tuple) else []
    return len(parts) == 2 and is_params(parts[1])


def _is_long(code: ast.expr) -> bool:
    return isinstance(code, ast.Call | ast.BinOp) and len(syntax.text(code)) > LONGEST


def _untupled(statement: ast.stmt, indent: int) -> list[ast.stmt]:
    """Return `a, b = f(x), g(x)` as two statements, if it does not fit on a line."""
    if not isinstance(statement, ast.Assign) or _height(statement, indent) == 1:
        return [statement]
    target, value = statement.targets[0], statement.value
    if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)):
        return [statement]
    if len(target.elts) != len(value.elts) or any(isinstance(x, ast.Starred) for x in value.elts):
        return [statement]
    for n, part in enumerate(target.elts):
        later = [name for x in value.elts[n + 1 :] for name in syntax.names_in(x)]
        if not isinstance(part, ast.Name) or part.id in later:
            return [statement]
    pairs = zip(target.elts, value.elts, strict=True)
    parts: list[ast.stmt] = [ast.Assign([t], v) for t, v in pairs]
    copy_remarks(statement, parts[0], parts[-1])
    return parts


def _divided(statement: ast.stmt, indent: int, names: PartNames) -> list[ast.stmt]:
    """Return a statement after those that compute its long arguments."""
    height = _height(statement, indent)
    if height == 1 or not isinstance(statement, ast.Assign | ast.Return):
        return [statement]
    if isinstance(statement.value, ast.List | ast.Dict) or _is_sum(statement, indent):
        return [statement]
    found = [
        (sum(_height(s, indent) for s in pair), _widest(pair, indent), n, pair)
        for n, place in enumerate(_places(statement.value))
        if (pair := _pair(statement, place, names)) is not None
    ]
    best = min(found, key=lambda x: x[:3], default=None)
    if best is None:
        return [statement]
    parts = [part for half in best[3] for part in _divided(half, indent, names)]
    if sum(_height(part, indent) for part in parts) >= height:
        return [statement]
    copy_remarks(statement, parts[0], parts[-1])
    return parts


def _is_sum(statement: ast.stmt, indent: int) -> bool:
    """Return whether a statement has a line for each of its terms or factors."""
    terms = operands(tidy(statement_text(statement)))
    return bool(terms) and all(len(term) + indent + 4 <= WIDTH for term in terms)


def _places(node: ast.expr | None) -> Iterator[ast.expr]:
    """Yield the parts of an expression that are computed once whenever it is."""
    inner: list[ast.expr] = []
    if isinstance(node, ast.Call):
        inner = [node.func] if isinstance(node.func, ast.Attribute) else []
        inner += [a for a in node.args if not isinstance(a, ast.Starred)]
        inner += [k.value for k in node.keywords]
    elif isinstance(node, ast.BinOp):
        inner = [node.left, node.right]
    elif isinstance(node, ast.Attribute | ast.Subscript):
        inner = [node.value]
    elif isinstance(node, ast.Tuple | ast.List):
        inner = [x for x in node.elts if not isinstance(x, ast.Starred)]
    elif isinstance(node, ast.ListComp):
        inner = [node.generators[0].iter]
    for part in inner:
        if isinstance(part, ast.Call | ast.BinOp) and len(syntax.text(part)) >= SHORTEST:
            yield part
        yield from _places(part)


def _pair(
    statement: ast.Assign | ast.Return, place: ast.expr, names: PartNames
) -> tuple[ast.stmt, ast.stmt] | None:
    """Return a statement as two: the first one computes one of its parts."""
    marker = "_part_"
    rest = syntax.with_part(statement, place, syntax.name(marker))
    early = itertools.takewhile(lambda node: node is not place, syntax.in_order(statement))
    if draws.keys(place) and any(map(draws.is_key, early)):
        return None  # the draws would be in another order
    reads = set(syntax.names_in(rest))
    name = names.of(statement, place, reads)
    if name is None:
        return None
    first = ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(place))
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name) or target.id != name:
        on_statement(first).part = True  # the name is that of the whole part
    second = syntax.substitute(rest, {marker: syntax.name(name)})
    on_statement(second).comments = ()
    return first, second


def _height(statement: ast.stmt, indent: int) -> int:
    lines = statement_lines(_bare(statement), indent)
    return len(lines) + sum(len(line) > WIDTH for line in lines)


def _bare(statement: ast.stmt) -> ast.stmt:
    """Return a statement without its comments."""
    bare = copy.copy(statement)
    drop_remarks(bare)
    return bare


def _widest(pair: Sequence[ast.stmt], indent: int) -> int:
    return max(len(line) for s in pair for line in statement_lines(_bare(s), indent))
