"""Merge the statements of train mode with those of eval mode."""

from __future__ import annotations

import ast
import copy
from typing import Any, Protocol

from jaxgrad.parity.port.expressions.conditions import opposite
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.unify import Unified


class Expressions(Protocol):
    """How code of both modes is unified, how that of one mode is copied, and the test between."""

    @property
    def test(self) -> ast.expr: ...

    def unified(self, train: Any, evaluated: Any) -> Unified | None: ...

    def alone(self, node: Any, *, training: bool) -> Any: ...


def merge_bodies(
    train: list[ast.stmt], evaluated: list[ast.stmt], bound: set[str], merger: Expressions
) -> Unified:
    """Return statements that are `train` in train mode and `evaluated` in eval mode.

    Args:
        train: Statements of a function in train mode.
        evaluated: Those of the same function in eval mode.
        bound: The variables that have a value before them in both modes.
        merger: Unifies statements.
    """
    bound = set(bound)
    body, holes = Unified([], [])
    start = 0, 0
    ends = [*_aligned(train, evaluated, bound, merger), (len(train), len(evaluated), None)]
    for i, j, unified in ends:
        body += _unmatched(train[start[0] : i], evaluated[start[1] : j], bound, merger)
        if unified is not None:
            body.append(unified.template)
            holes += unified.holes
            bound |= syntax.assigned(unified.template)
        start = i + 1, j + 1
    return Unified(body, holes)


def _aligned(
    left: list[ast.stmt], right: list[ast.stmt], bound: set[str], merger: Expressions
) -> list[tuple[int, int, Unified]]:
    """Return the longest sequence of statements that can be merged, in the order of both."""
    merged = {
        (i, j): m
        for i, a in enumerate(left)
        for j, b in enumerate(right)
        if (m := _statement(a, b, bound, merger)) is not None
    }
    best: dict[tuple[int, int], int] = {}
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            skipped = max(best.get((i + 1, j), 0), best.get((i, j + 1), 0))
            taken = 1 + best.get((i + 1, j + 1), 0) if (i, j) in merged else 0
            best[i, j] = max(skipped, taken)
    found: list[tuple[int, int, Unified]] = []
    i = j = 0
    while best.get((i, j), 0):
        if (i, j) in merged and best[i, j] == 1 + best.get((i + 1, j + 1), 0):
            found.append((i, j, merged[i, j]))
            i, j = i + 1, j + 1
        elif best.get((i + 1, j), 0) == best[i, j]:
            i += 1
        else:
            j += 1
    return found


def _statement(train: Any, evaluated: Any, bound: set[str], merger: Expressions) -> Unified | None:
    if type(train) is not type(evaluated):
        return None
    if isinstance(train, ast.For | ast.FunctionDef):
        return _block(train, evaluated, bound, merger)
    if isinstance(train, ast.Assign):
        if not syntax.same(train.targets[0], evaluated.targets[0]):
            return None
    return merger.unified(train, evaluated)


def _block(train: Any, evaluated: Any, bound: set[str], merger: Expressions) -> Unified | None:
    """Merge two loops or nested functions: their heads are equal, and their bodies are merged."""
    new = copy.copy(train)
    if isinstance(train, ast.For):
        if not syntax.same(train.target, evaluated.target):
            return None
        over = merger.unified(train.iter, evaluated.iter)
        if over is None or over.holes:
            return None
        new.iter = over.template
        inner = bound | syntax.assigned(ast.Expr(train.target))
    else:
        if train.name != evaluated.name or not syntax.same(train.args, evaluated.args):
            return None
        inner = bound | {a.arg for a in train.args.args}
    body = merge_bodies(train.body, evaluated.body, inner, merger)
    new.body = body.template
    return Unified(new, body.holes)


def _unmatched(
    left: list[ast.stmt], right: list[ast.stmt], bound: set[str], merger: Expressions
) -> list[ast.stmt]:
    """Return statements that only one mode has, inside of `if training:`."""
    if right:
        return _branch(left, right, merger)
    body: list[ast.stmt] = []
    pending: list[ast.stmt] = []
    for statement in left:
        dropped = _dropped(statement, bound, merger)
        if dropped is None:
            pending.append(statement)
            continue
        body += [*_branch(pending, [], merger), dropped]
        pending = []
    return [*body, *_branch(pending, [], merger)]


def _dropped(statement: ast.stmt, bound: set[str], merger: Expressions) -> ast.stmt | None:
    """Return `x = dropout(x)` with the argument `training`; in eval mode it does nothing."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return None
    name = statement.targets[0].id
    value = merger.unified(statement.value, syntax.name(name)) if name in bound else None
    if value is None or value.holes:
        return None
    new = copy.copy(statement)
    new.value = value.template
    return new


def _branch(
    train: list[ast.stmt], evaluated: list[ast.stmt], merger: Expressions
) -> list[ast.stmt]:
    """Return `if training: ... else: ...`; after an arm that returns, the other needs no else."""
    then = [merger.alone(s, training=True) for s in train]
    otherwise = [merger.alone(s, training=False) for s in evaluated]
    test = copy.deepcopy(merger.test)
    if not then and not otherwise:
        return []
    if then and isinstance(then[-1], ast.Return):
        return [ast.If(test, then, []), *otherwise]
    if not then or (otherwise and isinstance(otherwise[-1], ast.Return)):
        return [ast.If(opposite(test), otherwise, []), *then]
    return [ast.If(test, then, otherwise)]
