"""Remove what a function of the port does not need: values that nothing reads, tests made twice."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement


def cleaned(body: list[ast.stmt], *, left: bool = False) -> list[ast.stmt]:
    """Return the statements of a function without values that are never read.

    Args:
        body: The statements.
        left: Whether to remove the last value of a variable too, if only earlier ones are read. It
            stays as long as an unrolled loop may be rolled again, because the last iteration must
            then be like the others.
    """
    body = _without_repeated_tests([s for s in body if not _is_trivial(s)])
    while True:
        body = _without_overwritten(body, left)
        reads = Counter(name for s in body for name in _reads(s))
        for statement in ast.walk(ast.Module(body, [])):
            if items := _appended(statement):
                reads[items] -= 1
        kept = _kept(body, reads)
        if _count(kept) == _count(body):
            return kept
        body = kept


def _without_repeated_tests(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without an assertion that stands above already."""
    found: list[ast.stmt] = []
    held: list[ast.expr] = []  # the tests that hold
    for statement in body:
        if isinstance(statement, ast.Assert):
            if any(syntax.same(statement.test, test) for test in held):
                continue
            held.append(statement.test)
        changed = syntax.assigned(statement)
        held = [test for test in held if not changed & set(syntax.names_in(test))]
        found.append(statement)
    return found


def _without_overwritten(body: list[ast.stmt], left: bool) -> list[ast.stmt]:
    """Return the statements without values that are replaced before they are read.

    A branch whose values are never read is left out too.
    """
    inner = [n for s in body for n in ast.walk(s) if isinstance(n, ast.FunctionDef)]
    shared = {name for f in inner for name in (*_reads(f), *syntax.nonlocals(f))}
    return [
        statement
        for place, statement in enumerate(body)
        if not _is_overwritten(statement, body[place + 1 :], shared, left)
    ]


def _is_overwritten(
    statement: ast.stmt, after: list[ast.stmt], shared: set[str], left: bool
) -> bool:
    names = _assigned_in_arms(statement) or _assigned_names(statement)
    if not names or names & shared or syntax.change_variables([statement]):
        return False
    for other in after:
        if names & set(_reads(other)):
            return False
        names = names - _assigned_names(other)
        if not names:
            return True
    ends = bool(after) and isinstance(after[-1], ast.Return)
    return ends and (left or isinstance(statement, ast.If))


def _assigned_names(statement: ast.stmt) -> set[str]:
    """Return the variables to which a statement gives new values, and nothing else."""
    if not isinstance(statement, ast.Assign):
        return set()
    (target,) = statement.targets
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    found = {x.id for x in names if isinstance(x, ast.Name)}
    return found if len(found) == len(names) else set()


def _assigned_in_arms(statement: ast.stmt) -> set[str]:
    """Return the variables to which a branch gives new values, if it does nothing else."""
    if not isinstance(statement, ast.If):
        return set()
    arms = [*statement.body, *statement.orelse]
    names = [_assigned_in_arms(s) or _assigned_names(s) for s in arms]
    return set().union(*names) if all(names) else set()


def _reads(node: ast.AST) -> Iterator[str]:
    """Yield the variables that a statement reads; a nested function has variables of its own."""
    own: set[str] = set()
    if isinstance(node, ast.FunctionDef):
        own = (syntax.assigned(node) - syntax.nonlocals(node)) | {a.arg for a in node.args.args}
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for inner in ast.iter_child_nodes(node):
        yield from (name for name in _reads(inner) if name not in own)


def _count(body: list[ast.stmt]) -> int:
    return sum(isinstance(n, ast.stmt) for s in body for n in ast.walk(s))


def _kept(body: list[ast.stmt], reads: Counter[str]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Assign) and not _is_read(statement.targets[0], reads):
            if syntax.change_variables([statement.value]):
                found.append(_without_name(statement))
            continue
        if (items := _appended(statement)) and reads[items] <= 0:
            continue
        if isinstance(statement, ast.For):
            statement.body = _kept(statement.body, reads)
            if not statement.body:
                continue
        if isinstance(statement, ast.If):
            statement.body = _kept(statement.body, reads)
            statement.orelse = _kept(statement.orelse, reads)
            if not statement.body and not statement.orelse:
                continue
            if not statement.body:
                statement.test = syntax.negated(statement.test)
                statement.body, statement.orelse = statement.orelse, []
        found.append(statement)
    return found


def _without_name(statement: ast.Assign) -> ast.Expr:
    """Return a call whose value nothing reads, and which changes variables of its module."""
    alone = ast.Expr(statement.value)
    known, own = on_statement(statement), on_statement(alone)
    own.comments, own.trailing = known.comments, known.trailing
    return alone


def _is_read(target: ast.expr, reads: Counter[str]) -> bool:
    if isinstance(target, ast.Name):
        return reads[target.id] > 0
    if isinstance(target, ast.Tuple):
        return any(_is_read(x, reads) for x in target.elts)
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        return reads[target.value.id] > 0
    return True


def _appended(statement: ast.AST) -> str:
    """Return the variable of a list that a statement appends to, or ""."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(items)))) if on_statement(statement).appends:
            return items
    return ""


def _is_trivial(statement: ast.stmt) -> bool:
    """Return whether a statement is `x = x`, or an assertion about constants."""
    if isinstance(statement, ast.Assert):
        return not syntax.names_in(statement.test)
    return syntax.is_itself(statement)
