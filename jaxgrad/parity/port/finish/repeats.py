"""Write the iterations of an unrolled loop as a loop again, where they differ in numbers alone.

The torch program goes over modules of several classes, or with a number for each of them::

    x, delta = act_norm(p["bijections"][0], x)           for i in range(0, 4, 2):
    x, delta = coupling(p["bijections"][1], x)               x, delta = act_norm(p[...][i], x)
    x, delta = act_norm(p["bijections"][2], x)               x, delta = coupling(p[...][i + 1], x)
    x, delta = coupling(p["bijections"][3], x)
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.merging.differences import (
    aligned,
    constants,
    keyword_of,
    without_omitted,
)
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import move_comments, on_statement
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.unify import literals, unify
from jaxgrad.parity.port.source.written import Written


LONGEST = 12  # statements of an iteration
FEWEST = 5  # statements that a loop takes the place of, at the least


def with_loops(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with the repeated statements of an unrolled loop as a loop."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            taken = syntax.all_names(written.node) | RESERVED
            written.node.body = _rolled(written.node.body, taken)
    return list(functions)


def _rolled(body: list[ast.stmt], taken: set[str]) -> list[ast.stmt]:
    start, found = 0, []
    while start < len(body):
        loop, length = _loop_at(body, start, taken)
        found.append(body[start] if loop is None else loop)
        start += length
    return found


def _loop_at(body: list[ast.stmt], start: int, taken: set[str]) -> tuple[ast.For | None, int]:
    """Return the loop that may be written in the place of statements, and their number."""
    for size in range(1, min(LONGEST, (len(body) - start) // 2) + 1):
        iterations = list(_iterations(body[start:], size))
        if (len(iterations) - 1) * size < FEWEST - 1 or len(iterations) < 2:
            continue
        loop = _loop(iterations, taken)
        if loop is not None:
            return loop, size * len(iterations)
    return None, 1


def _iterations(body: list[ast.stmt], size: int) -> Iterator[list[ast.stmt]]:
    """Yield as many groups of statements as differ from the first in numbers alone."""
    for start in range(0, len(body) - size + 1, size):
        iteration = body[start : start + size]
        if not all(on_statement(s).unrolled and isinstance(s, ast.Assign | ast.AugAssign | ast.Expr)
                   for s in iteration):  # fmt: skip
            return
        places = constants(body[:size], iteration) if start else []
        if places is None or not all(numbers.is_literal(x) for place in places for x in place):
            return
        yield iteration


@dataclasses.dataclass(frozen=True)
class _Varying:
    """A number of a statement that has another value in each iteration."""

    node: ast.expr  # in the first iteration
    values: tuple[Any, ...]
    is_index: bool
    name: str

    @property
    def step(self) -> int:
        """The difference of two iterations, or 0 if it is not the same for all of them."""
        first, second = self.values[:2]
        same = len({b - a for a, b in itertools.pairwise(self.values)}) == 1
        return second - first if same and isinstance(first, int) else 0


def _loop(iterations: list[list[ast.stmt]], taken: set[str]) -> ast.For | None:
    """Return a loop over iterations, or None if the port cannot name what varies."""
    first = copy.deepcopy(iterations[0])
    others = []
    for iteration in iterations[1:]:
        first, other = aligned(first, iteration)
        others.append(other)
    others = [aligned(first, other)[1] for other in others]  # with the options of all iterations
    varying = _varying(first, others)
    indices = [v for v in varying if v.is_index]
    named = [v for v in varying if not v.is_index]
    if any(v.step <= 0 or v.step != indices[0].step for v in indices) or not varying:
        return None
    labels = _labels(named, taken)
    if labels is None:
        return None
    iterables: list[tuple[str, ast.expr]] = [
        (label, syntax.literal(values)) for values, label in labels.items()
    ]
    new: list[tuple[ast.expr, ast.expr]] = [(v.node, syntax.name(labels[v.values])) for v in named]
    if indices:
        index = syntax.unique("i", taken)
        base, step = indices[0].values[0], indices[0].step
        iterables.insert(0, (index, _range(base, base + step * len(iterations), step)))
        new += [(v.node, _plus(index, v.values[0] - base)) for v in indices]
    body = [syntax.replace(s, new) for s in first]
    for statement in body:
        without_omitted(statement)
    loop = ast.For(*_head(iterables), body, [])
    move_comments(body[0], loop)
    return loop


def _head(iterables: list[tuple[str, ast.expr]]) -> tuple[ast.expr, ast.expr]:
    """Return the target and the iterable of a loop over one or several iterables."""
    targets: list[ast.expr] = [ast.Name(label, ast.Store()) for label, _ in iterables]
    codes = [code for _, code in iterables]
    if len(codes) == 1:
        return targets[0], codes[0]
    is_count = isinstance(codes[0], ast.Call) and len(codes[0].args) == 1  # range(n)
    if len(codes) == 2 and is_count:
        return ast.Tuple(targets, ast.Store()), syntax.call_helper(Helper.ENUMERATE, codes[1])
    return ast.Tuple(targets, ast.Store()), syntax.call("zip", *codes)


def _varying(first: list[ast.stmt], others: list[list[ast.stmt]]) -> list[_Varying]:
    """Return the numbers in which iterations differ."""
    unified = [unify(first, other, literals) for other in others]
    inner = [n.slice for s in first for n in ast.walk(s) if isinstance(n, ast.Subscript)]
    indices = {x for x in inner if isinstance(x, ast.Constant)}
    found = []
    for column in zip(*(x.holes for x in unified if x is not None), strict=True):
        node = column[0][0]
        values = tuple(map(numbers.value_of, (node, *(own for _, own in column))))
        if len(set(values)) > 1:
            found.append(_Varying(node, values, node in indices, keyword_of(node)))
    return found


def _labels(varying: list[_Varying], taken: set[str]) -> dict[tuple[Any, ...], str] | None:
    """Return a name for each sequence of numbers, or None if one has no name in the program."""
    labels: dict[tuple[Any, ...], str] = {}
    for values in dict.fromkeys(v.values for v in varying):
        names = [v.name for v in varying if v.values == values and v.name]
        if not names:
            return None
        labels[values] = syntax.unique(names[0], {*taken, *labels.values()})
    return labels


def _range(start: int, stop: int, step: int) -> ast.expr:
    parts = [stop] if (start, step) == (0, 1) else [start, stop, *([step] if step > 1 else [])]
    return syntax.call("range", *map(syntax.constant, parts))


def _plus(index: str, offset: int) -> ast.expr:
    """Return `i`, `i + 1` or `i - 1`."""
    if not offset:
        return syntax.name(index)
    relation = ast.Add() if offset > 0 else ast.Sub()
    return ast.BinOp(syntax.name(index), relation, syntax.constant(abs(offset)))
