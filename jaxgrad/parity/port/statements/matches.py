"""Interpret `match` as the chain of `if` statements that tests its patterns in order."""

from __future__ import annotations

import ast

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.binding import bind
from jaxgrad.parity.port.values.scope import Scope


def match_statement(node: ast.Match, scope: Scope) -> None:
    """Interpret a `match` whose patterns are values, types, names, `_` or alternatives of these.

    Raises:
        PortError: A pattern takes its subject apart.
    """
    subject = node.subject
    if not isinstance(subject, ast.Name | ast.Attribute):  # a call must run once
        name = scope.fresh("subject")
        bind(name, scope.run.evaluate(subject, scope), scope)
        subject = ast.Name(name, ast.Load())
    chain: list[ast.stmt] = []
    for case in reversed(node.cases):
        chain = _branch(case, subject, chain, scope)
    scope.run.execute(chain, scope)


def _branch(
    case: ast.match_case, subject: ast.expr, rest: list[ast.stmt], scope: Scope
) -> list[ast.stmt]:
    """Return the statements of one case; `rest` runs if it does not match."""
    pattern, guard, body = case.pattern, case.guard, case.body
    if isinstance(pattern, ast.MatchAs) and pattern.name is not None:
        stored = ast.Assign([ast.Name(pattern.name, ast.Store())], subject)
        body = [_placed(stored, pattern), *body]
        guard = None if guard is None else syntax.substitute(guard, {pattern.name: subject})
        pattern = pattern.pattern or ast.copy_location(ast.MatchAs(), pattern)
    test = _test(pattern, subject, scope)
    tests = [x for x in (test, guard) if x is not None]
    if not tests:
        return body
    joined = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    return [_placed(ast.If(joined, body, rest), case.pattern)]


def _test(pattern: ast.pattern, subject: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the test that a pattern makes, or None if it matches everything."""
    match pattern:
        case ast.MatchValue(value):
            return ast.Compare(subject, [ast.Eq()], [value])
        case ast.MatchSingleton(value):
            return ast.Compare(subject, [ast.Is()], [ast.Constant(value)])
        case ast.MatchClass(kind, [], [], []):
            return syntax.call("isinstance", subject, kind)
        case ast.MatchAs(None, None):
            return None
        case ast.MatchOr(patterns):
            tests = [_test(x, subject, scope) for x in patterns]
            return ast.BoolOp(ast.Or(), [x for x in tests if x]) if all(tests) else None
    raise scope.refuse(
        "a pattern that takes its subject apart is not ported; match values, or write it with if",
        pattern,
    )


def _placed(statement: ast.stmt, pattern: ast.pattern) -> ast.stmt:
    """Return a statement whose place is the line of `case`."""
    return ast.fix_missing_locations(ast.copy_location(statement, pattern))
