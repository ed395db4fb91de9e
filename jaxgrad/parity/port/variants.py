"""Copies of a function that take different branches of the torch source become one with an `if`.

The branch depends on the module's configuration: on an attribute, which becomes a keyword, or on
whether the module has a part, as in `if "downsample" in p:`.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.conditions import opposite
from jaxgrad.parity.port.mode_statements import merge_bodies
from jaxgrad.parity.port.scope import RESERVED, Written
from jaxgrad.parity.port.source import is_torch, source_of


@dataclasses.dataclass(frozen=True)
class Test:
    """A test of the configuration that tells two copies of a function from each other.

    Attributes:
        code: The test in the port.
        answer: What it is for the first copy; it is the opposite for the second one.
        keywords: The keywords that it reads, with the value for each copy.
    """

    code: ast.expr
    answer: bool
    keywords: Mapping[str, tuple[Any, Any]]
    times: int = 1  # how often the torch function has it


def test_between(left: Written, right: Written, module: nn.Module) -> Test | None:
    """Return the first test of the torch function on which the modules of two copies differ."""
    if is_torch(left.function) or not left.held or not right.held:
        return None
    try:
        sides = [[module.get_submodule(path) for path in w.held] for w in (left, right)]
    except AttributeError:
        return None
    source = source_of(left.function).node
    tests = [n.test for n in ast.walk(source) if isinstance(n, ast.If | ast.IfExp)]
    parts = [part for test in tests for part in _parts(test)]
    own = [n for n in ast.walk(source) if isinstance(n, ast.expr) and _own(n)]
    candidates = (
        *((part, _presence(part, sides) or _on_attributes(part, sides)) for part in parts),
        *((part, _on_parameter(part, left, right)) for part in parts),
        *((part, _presence(part, sides)) for part in own),
    )
    for part, test in candidates:
        if test is not None:
            times = sum(syntax.same(part, x) for x in (parts if part in parts else own))
            return dataclasses.replace(test, times=times)
    return None


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    yield test
    if isinstance(test, ast.BoolOp):
        yield from test.values


def _own(node: ast.AST) -> str:
    """Return `a` of `self.a`."""
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return node.attr if is_own and node.value.id == "self" else ""  # pyright: ignore[reportAttributeAccessIssue]


def _on_parameter(node: ast.expr, left: Written, right: Written) -> Test | None:
    """Return `memory is not None` for an argument that only one of two copies takes."""
    name = node.left.id if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) else ""
    have = [name in (a.arg for a in w.node.args.args) for w in (left, right)]
    if have[0] == have[1] or not name.isidentifier() or "None" not in syntax.text(node):
        return None
    code = ast.Compare(syntax.name(name), [ast.IsNot()], [syntax.constant(None)])
    return Test(code, have[0], {})


def _presence(node: ast.expr, sides: Sequence[Sequence[nn.Module]]) -> Test | None:
    """Return `"downsample" in p` for a part that one side has and the other one has not."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    inner = inner.left if isinstance(inner, ast.Compare) else inner
    name = _own(inner)
    if not name:
        return None
    have = [{_has_state(getattr(m, name, None)) for m in side} for side in sides]
    if have[0] == have[1] or any(len(x) != 1 for x in have):
        return None
    code = ast.Compare(syntax.constant(name), [ast.In()], [syntax.name("p")])
    return Test(code, have[0] == {True}, {})


def _has_state(part: Any) -> bool:
    if isinstance(part, nn.Module):
        return bool(part.state_dict())
    return isinstance(part, torch.Tensor)


def _on_attributes(node: ast.expr, sides: Sequence[Sequence[nn.Module]]) -> Test | None:
    """Return a test that reads nothing but numbers, texts and flags of the module."""
    names = {_own(n) for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    reads = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    if not names or "" in names or reads != {"self"} or names & RESERVED:
        return None
    if any(isinstance(n, ast.Call | ast.Subscript | ast.Lambda) for n in ast.walk(node)):
        return None
    values = {n: [{_plain(getattr(m, n, None)) for m in side} for side in sides] for n in names}
    if any(len(side) != 1 or side == {None} for pair in values.values() for side in pair):
        return None
    pairs = {n: tuple(next(iter(side)) for side in pair) for n, pair in values.items()}
    code = compile(ast.Expression(ast.fix_missing_locations(copy.deepcopy(node))), "", "eval")
    answers = [bool(eval(code, {"self": side[0]})) for side in sides]
    if answers[0] == answers[1]:
        return None
    return Test(_Names().visit(copy.deepcopy(node)), answers[0], pairs)  # pyright: ignore[reportArgumentType]


def _plain(value: Any) -> Any:
    """Return configuration that a keyword can have, and None of anything else."""
    return value if isinstance(value, bool | int | float | str) else None


class _Names(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return syntax.name(node.attr)


@dataclasses.dataclass(frozen=True)
class _Copies:
    """Merges statements that are equal up to constants; each has its `twin` of the other copy."""

    test: ast.expr
    constants: Any  # returns the constants in which two trees differ, or None

    def expression(self, train: Any, evaluated: Any) -> Any:
        if self.constants(train, evaluated) is None:
            return None
        new = copy.deepcopy(train)
        if isinstance(new, ast.stmt):
            new.__dict__["twin"] = copy.deepcopy(evaluated)
        return new if isinstance(new, ast.stmt) or syntax.same(train, evaluated) else None

    def alone(self, node: Any, *, training: bool) -> Any:  # noqa: ARG002  # no modes
        return copy.deepcopy(node)


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
        label = next((x for x in syntax.names_in(pair[0]) if x in parameters and x != "p"), "y")
        outside = [
            _replaced(s, part, syntax.name("_"))
            for s, part in zip((left[n], right[n]), pair, strict=True)
        ]
        if any(label in syntax.names_in(s) for s in outside):
            label = syntax.unique("y", names)
        for body, part in ((left, pair[0]), (right, pair[1])):
            rest = _replaced(body[n], part, syntax.name(label))
            first = ast.Assign([ast.Name(label, ast.Store())], part)
            first.__dict__["temporary"] = True
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
