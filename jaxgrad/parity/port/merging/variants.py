"""Copies of a function that take different branches of the torch source become one with an `if`.

The branch depends on the module's configuration: on an attribute, which becomes a keyword, or on
whether the module has a part, as in `if "downsample" in p:`.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

from jaxgrad.parity.port.expressions.conditions import opposite
from jaxgrad.parity.port.merging.branch_tests import Test
from jaxgrad.parity.port.merging.differences import constants, with_constants
from jaxgrad.parity.port.modes.mode_statements import merge_bodies
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.unify import Unified, unify
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values.draws import RNG


def with_branches(left: Written, right: Written, test: Test) -> Unified:
    """Unify the statements of two copies, with an `if` where they differ in more than constants.

    Args:
        left: The first copy.
        right: The second copy.
        test: The test between them.
    """
    code = test.code if test.answer else opposite(test.code)
    _hoist(left.node.body, right.node.body, {a.arg for a in left.node.args.args})
    bound = {a.arg for w in (left, right) for a in w.node.args.args}
    body, holes = merge_bodies(left.node.body, right.node.body, bound, _Copies(code))
    body = _adjacent(body, code)
    return Unified(_positive(body, opposite(code)) if not test.answer else body, holes)


def _adjacent(body: list[ast.stmt], test: ast.expr) -> list[ast.stmt]:
    """Join branches on one test that follow one another."""
    joined: list[ast.stmt] = []
    for statement in body:
        last = joined[-1] if joined else None
        if isinstance(statement, ast.For):
            statement.body = _adjacent(statement.body, test)
        if not (isinstance(statement, ast.If) and isinstance(last, ast.If)):
            joined.append(statement)
        elif syntax.same([statement.test, last.test], [test, test]):
            last.body += statement.body
            last.orelse += statement.orelse
        else:
            joined.append(statement)
    return joined


def _positive(body: list[ast.stmt], test: ast.expr) -> list[ast.stmt]:
    """Write `if test: a else: b` for `if not test: b else: a`."""
    for n, statement in enumerate(body):
        if isinstance(statement, ast.For):
            statement.body = _positive(statement.body, test)
        if not isinstance(statement, ast.If) or not syntax.same(statement.test, opposite(test)):
            continue
        rest = body[n + 1 :]
        if statement.orelse:
            body[n] = ast.If(copy.deepcopy(test), statement.orelse, statement.body)
        elif rest and isinstance(statement.body[-1], ast.Return):
            return [*body[:n], ast.If(copy.deepcopy(test), rest, []), *statement.body]
    return body


def _hoist(left: list[ast.stmt], right: list[ast.stmt], parameters: set[str]) -> None:
    """Name the one part in which two statements differ: the statements are then alike."""
    if len(left) != len(right):
        return
    for n in reversed(range(len(left))):
        if constants(left[n], right[n]) is not None:
            continue
        (pair,) = _with_one_hole(left[n], right[n]).holes
        is_whole = pair[0] is getattr(left[n], "value", None)
        if is_whole or not all(isinstance(x, ast.Call | ast.BinOp) for x in pair):
            continue
        names = {name for s in (left[n], right[n]) for name in syntax.names_in(s)}
        arrays = parameters - {PARAMS, RNG}
        label = next((x for x in syntax.names_in(pair[0]) if x in arrays), "y")
        outside = [
            syntax.with_part(s, part, syntax.name("_"))
            for s, part in zip((left[n], right[n]), pair, strict=True)
        ]
        if any(label in syntax.names_in(s) for s in outside):
            label = syntax.unique("y", names)
        for body, part in ((left, pair[0]), (right, pair[1])):
            rest = syntax.with_part(body[n], part, syntax.name(label))
            first = ast.Assign([ast.Name(label, ast.Store())], part)
            on_statement(first).temporary = True
            body[n : n + 1] = [first, rest]


def _with_one_hole(left: Any, right: Any) -> Unified:
    """Unify two trees with one hole: the smallest part that differs in more than constants."""
    if constants(left, right) is not None:
        return Unified(left, [])
    inner = unify(left, right, _with_one_hole)
    if inner is not None and len(inner.holes) == 1 and isinstance(inner.holes[0][0], ast.expr):
        return inner
    return Unified(left, [(left, right)])


def count(body: Sequence[ast.stmt], test: Test) -> int:
    """Return how many branches a merged function has."""
    codes = test.code, opposite(test.code)
    tests = [n.test for s in body for n in ast.walk(s) if isinstance(n, ast.If)]
    return sum(syntax.same(x, code) for x in tests for code in codes)


def share(left: Written, right: Written, body: Sequence[ast.stmt]) -> bool:
    """Return whether copies that update their params have a statement in common.

    With an `if` around all of them, the params would be updated and returned in both arms.
    """

    def number(statements: Sequence[ast.stmt]) -> int:
        inner = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.stmt)]
        return sum(not isinstance(n, ast.If) for n in inner)

    total = number(left.node.body) + number(right.node.body)
    return number(body) < total or not syntax.updated(left.node)


def common_parameters(left: Written, right: Written) -> tuple[list[str], list[str]]:
    """Return the parameters that two copies share, and those that only one of them has."""
    mine, theirs = ([a.arg for a in w.node.args.args] for w in (left, right))
    both = [n for n in mine if n in theirs]
    return both, [n for n in (*mine, *theirs) if n not in both]


@dataclasses.dataclass(frozen=True)
class _Copies:
    """Unifies statements that are equal up to constants, and expressions that are equal."""

    test: ast.expr

    def unified(self, train: Any, evaluated: Any) -> Unified | None:
        return with_constants(train, evaluated)

    def alone(self, node: Any, *, training: bool) -> Any:  # noqa: ARG002  # no modes
        return copy.deepcopy(node)
