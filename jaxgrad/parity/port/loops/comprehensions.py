"""Interpret a comprehension: one of the port where every element is written alike."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

from jaxgrad.parity.port.expressions import conditions
from jaxgrad.parity.port.loops.loops import Iteration, iterations, recorded, resolve
from jaxgrad.parity.port.loops.unrolling import (
    modules_of,
    name_containers,
    name_elements,
    require_iterations,
    unroll,
)
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.lengths import pinned
from jaxgrad.parity.port.values.results import outside
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Fields,
    Folded,
    Items,
    Value,
    is_dynamic,
)
from jaxgrad.parity.port.values.values import tensors_in


Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


def comprehension(node: Comprehension, scope: Scope) -> Value:
    """Return the list, tuple or dict that a comprehension makes."""
    saved = dict(scope.values)
    try:
        is_dict = isinstance(node, ast.DictComp)
        elements = [node.key, node.value] if is_dict else [node.elt]
        loops: list[list[Iteration]] = []
        made = list(_each(node.generators, elements, scope, node, loops))
        code = None if is_dict else _as_comprehension(node, made, scope)
        if code is None:
            for loop in loops:
                require_iterations(loop[0], len(loop), scope, node, asserted=loop is loops[-1])
        if is_dict:
            return Fields(dict, None, {pinned(key, scope, node): value for (key, value), _ in made})
        if isinstance(node, ast.SetComp) and all(type(x) is Folded for (x, *_), _ in made):
            return Folded({x.real for (x, *_), _ in made})
        counted = code is not None and any(not loop[0].fixed for loop in loops)
        sources = [recorded(loop, node, scope) for loop in loops]
        if code is not None and counted and any(tensors_in(values[0]) for values, _ in made):
            on_expression(code).loop = next(filter(None, sources))
        return Items(list, code, [values[0] for values, _ in made], counted)
    finally:
        scope.values.clear()
        scope.values.update(saved)


def _each(
    generators: list[ast.comprehension],
    elements: list[ast.expr],
    scope: Scope,
    node: ast.AST,
    loops: list[list[Iteration]],
) -> Iterator[tuple[list[Value], Iteration | None]]:
    if not generators:
        yield [scope.run.evaluate(x, scope) for x in elements], None
        return
    first, *rest = generators
    around = list(iterations(first.target, first.iter, scope))
    unrolled = _is_unrolled(node, around)
    if unrolled:
        name_containers(around, scope)
    number = scope.run.new_unrolling()
    for iteration in around:
        iteration.enter(scope)
        with scope.looping_over(modules_of(iteration)), scope.block() as body:
            passes = all(_passes(test, scope) for test in first.ifs)
            made = list(_each(rest, elements, scope, node, loops)) if passes else []
        if unrolled:
            name_elements(iteration, [*body, *_codes(made)], scope)
        unroll(body, iteration, number, scope, node)
        for values, inner in made:
            alone = inner is None and not body
            yield [_resolved(x, iteration.resolved) for x in values], iteration if alone else None
    if around:
        loops.append(around)  # outer loops after inner ones, whose lengths may depend on them


def _codes(made: list[tuple[list[Value], Iteration | None]]) -> list[ast.expr]:
    """Return the expressions of the elements that an iteration makes."""
    found = [x for values, _ in made for x in values]
    parts = [[x] if x.code is not None else tensors_in(x) for x in found]
    return [x.code for inner in parts for x in inner if x.code is not None]


def _is_unrolled(node: Any, around: list[Iteration]) -> bool:
    """Return whether a comprehension is known to be written element by element."""
    if isinstance(node, ast.DictComp) or len(node.generators) > 1 or node.generators[0].ifs:
        return True
    return any(iteration.iterable is None for iteration in around)


def _passes(test: ast.expr, scope: Scope) -> bool:
    return conditions.truth(scope.run.evaluate(test, scope), test, scope)


def _resolved(value: Value, parts: dict[str, ast.expr]) -> Value:
    """Return a value whose code does not name the loop's variable."""
    if value.code is None or not is_dynamic(value):
        return resolve(value, parts)
    new = copy.copy(outside(value, parts))
    new.symbolic = value.code if value.symbolic is None else value.symbolic
    new.code = syntax.substitute(value.code, parts)
    return new


def _as_comprehension(
    node: Any, made: list[tuple[list[Value], Iteration | None]], scope: Scope
) -> ast.expr | None:
    """Return the comprehension in the port, if each element has the same code there."""
    if len(node.generators) != 1 or node.generators[0].ifs or len(made) < 2:
        return None
    codes: list[Any] = [values[0].symbolic for values, _ in made]
    iteration = made[0][1]
    if any(isinstance(values[0].real, slice) for values, _ in made):
        return None  # a slice is written where it is an index
    if iteration is None or iteration.iterable is None or any(c is None for c in codes):
        return None
    if not all(syntax.same(codes[0], c) for c in codes[1:]):
        return None
    place = scope.place(node)
    if draws.keys(codes[0]):
        scope.run.calls.unrolled.add(place)
        return None  # each element has a key of its own
    if place in scope.run.other_mode.unrolled:
        return None
    generator = ast.comprehension(iteration.target(), iteration.iterable, [], 0)
    return ast.ListComp(codes[0], [generator])
