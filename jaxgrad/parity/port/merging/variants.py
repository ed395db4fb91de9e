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
from jaxgrad.parity.port.modes.mode_statements import merge_bodies
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values.draws import RNG


def with_branches(left: Written, right: Written, test: Test, constants: Any) -> list[ast.stmt]:
    """Return the statements of two copies, with an `if` where they differ in more than constants.

    Args:
        left: The first copy.
        right: The second copy.
        test: The test between them.
        constants: Returns the constants in which two trees differ, or None.
    """
    code = test.code if test.answer else opposite(test.code)
    _hoist(left.node.body, right.node.body, {a.arg for a in left.node.args.args}, constants)
    bound = {a.arg for w in (left, right) for a in w.node.args.args}
    body = merge_bodies(left.node.body, right.node.body, bound, _Copies(code, constants))
    body = _adjacent(body, syntax.text(code))
    return _positive(body, opposite(code)) if not test.answer else body


def _adjacent(body: list[ast.stmt], test: str) -> list[ast.stmt]:
    """Join branches on one test that follow one another."""
    joined: list[ast.stmt] = []
    for statement in body:
        last = joined[-1] if joined else None
        if isinstance(statement, ast.For):
            statement.body = _adjacent(statement.body, test)
        if not (isinstance(statement, ast.If) and isinstance(last, ast.If)):
            joined.append(statement)
        elif syntax.text(statement.test) == syntax.text(last.test) == test:
            last.body += statement.body
            last.orelse += statement.orelse
        else:
            joined.append(statement)
    return joined


def _positive(body: list[ast.stmt], test: ast.expr) -> list[ast.stmt]:
    """Write `if test: a else: b` for `if not test: b else: a`."""
    wrong = syntax.text(opposite(test))
    for n, statement in enumerate(body):
        if isinstance(statement, ast.For):
            statement.body = _positive(statement.body, test)
        if not isinstance(statement, ast.If) or syntax.text(statement.test) != wrong:
            continue
        rest = body[n + 1 :]
        if statement.orelse:
            body[n] = ast.If(copy.deepcopy(test), statement.orelse, statement.body)
        elif rest and isinstance(statement.body[-1], ast.Return):
            return [*body[:n], ast.If(copy.deepcopy(test), rest, []), *statement.body]
    return body


def _hoist(
    left: list[ast.stmt], right: list[ast.stmt], parameters: set[str], constants: Any
) -> None:
    """Name the one part in which two statements differ: the statements are then alike."""
    if len(left) != len(right):
        return
    for n in reversed(range(len(left))):
        if constants(left[n], right[n]) is not None:
            continue
        pair = _differing(left[n], right[n], constants)
        whole = [getattr(s, "value", None) for s in (left[n], right[n])]
        if (
            pair is None
            or pair[0] is whole[0]
            or not all(isinstance(x, ast.Call | ast.BinOp) for x in pair)
        ):
            continue
        names = {name for s in (left[n], right[n]) for name in syntax.names_in(s)}
        arrays = parameters - {PARAMS, RNG}
        label = next((x for x in syntax.names_in(pair[0]) if x in arrays), "y")
        outside = [
            _replaced(s, part, syntax.name("_"))
            for s, part in zip((left[n], right[n]), pair, strict=True)
        ]
        if any(label in syntax.names_in(s) for s in outside):
            label = syntax.unique("y", names)
        for body, part in ((left, pair[0]), (right, pair[1])):
            rest = _replaced(body[n], part, syntax.name(label))
            first = ast.Assign([ast.Name(label, ast.Store())], part)
            on_statement(first).temporary = True
            body[n : n + 1] = [first, rest]


def _differing(left: Any, right: Any, constants: Any) -> tuple[Any, Any] | None:
    """Return the smallest part of each of two trees outside of which they are equal."""
    if type(left) is not type(right):
        return left, right
    if not isinstance(left, ast.AST):
        return None
    parts = [(getattr(left, f, None), getattr(right, f, None)) for f in left._fields]
    flat: list[tuple[Any, Any]] = []
    for a, b in parts:
        if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            flat += list(zip(a, b, strict=True))
        else:
            flat.append((a, b))
    unequal = [(a, b) for a, b in flat if constants(a, b) is None]
    if len(unequal) != 1:
        return left, right
    ((a, b),) = unequal
    deeper = _differing(a, b, constants)
    return deeper if deeper is not None and isinstance(deeper[0], ast.expr) else (left, right)


def _replaced(statement: ast.stmt, part: ast.expr, new: ast.expr) -> Any:
    """Return a copy of a statement with one of its parts replaced."""
    memo = {id(part): new}
    return copy.deepcopy(statement, memo)


def count(body: Sequence[ast.stmt], test: Test) -> int:
    """Return how many branches a merged function has."""
    codes = {syntax.text(test.code), syntax.text(opposite(test.code))}
    nodes = [n for s in body for n in ast.walk(s) if isinstance(n, ast.If)]
    return sum(syntax.text(n.test) in codes for n in nodes)


def common_parameters(left: Written, right: Written) -> tuple[list[str], list[str]]:
    """Return the parameters that two copies share, and those that only one of them has."""
    mine, theirs = ([a.arg for a in w.node.args.args] for w in (left, right))
    both = [n for n in mine if n in theirs]
    return both, [n for n in (*mine, *theirs) if n not in both]


@dataclasses.dataclass(frozen=True)
class _Copies:
    """Merges statements that are equal up to constants.

    A merged statement has its counterpart in the other copy as an annotation.
    """

    test: ast.expr
    constants: Any  # returns the constants in which two trees differ, or None

    def expression(self, train: Any, evaluated: Any) -> Any:
        if self.constants(train, evaluated) is None:
            return None
        new = copy.deepcopy(train)
        if isinstance(new, ast.stmt):
            on_statement(new).counterpart = copy.deepcopy(evaluated)
        return new if isinstance(new, ast.stmt) or syntax.same(train, evaluated) else None

    def alone(self, node: Any, *, training: bool) -> Any:  # noqa: ARG002  # no modes
        return copy.deepcopy(node)
