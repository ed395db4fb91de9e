"""Interpret loops, which stay loops if their iterations are written alike, else are unrolled."""

from __future__ import annotations

import ast

from jaxgrad.parity.port.expressions import conditions
from jaxgrad.parity.port.loops import carried, scans
from jaxgrad.parity.port.loops.loops import Iteration, iterations, recorded, resolve
from jaxgrad.parity.port.loops.unrolling import (
    modules_of,
    name_containers,
    require_iterations,
    unroll,
)
from jaxgrad.parity.port.merging.differences import constants
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement, put_comments_above
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.values import state
from jaxgrad.parity.port.values.leaving import Broken, Continued, Returned
from jaxgrad.parity.port.values.lengths import numbers_of_lists
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded


LONGEST_LOOP = 10_000


def for_loop(node: ast.For, scope: Scope) -> None:
    around = list(iterations(node.target, node.iter, scope))
    if len(around) > LONGEST_LOOP:
        raise scope.refuse(
            f"a loop of {len(around)} iterations; use operators on whole tensors", node
        )
    recorded(around, node, scope)
    names = set(scope.names)
    before = carried.mark(node, scope)
    bodies: list[list[ast.stmt]] = []
    broken, returned = False, None
    after_first = dict(scope.values)
    lists = numbers_of_lists(scope.values)
    kinds = [scans.kinds_of(node, scope)]
    for iteration in around:
        iteration.enter(scope)
        scope.use_names(names | set(iteration.resolved))
        with scope.looping_over(modules_of(iteration)), scope.block() as body:
            try:
                scope.run.execute(node.body, scope)
            except Continued:
                pass
            except Broken:
                broken = True
            except Returned as result:
                broken, returned = True, Returned(resolve(result.value, iteration.resolved))
        if scope.plain:  # its sizes have no names, and read the variables of the loop
            for name, value in scope.values.items():
                scope.values[name] = resolve(value, iteration.resolved)
        bodies.append(body)
        kinds.append(scans.kinds_of(node, scope))
        if len(bodies) == 1:
            after_first = dict(scope.values)
        if broken:
            break
    changed = carried.changed(before, after_first)
    is_loop = _write_loop(node, around, bodies, broken, changed, scope)
    written = scope.body[-1] if is_loop else None
    if isinstance(written, ast.For) and scans.is_uniform(around, kinds):
        on_statement(written).uniform = True
    if is_loop and not around[0].fixed:
        kept = next(x for x in reversed(scope.body) if isinstance(x, ast.For))
        on_statement(kept).loop = recorded(around, node, scope)
        for value, count in lists.values():
            value.counted = value.counted or len(value.items) != count
    if returned is not None:
        raise returned
    if node.orelse and not broken:
        scope.run.execute(node.orelse, scope)


def _write_loop(
    node: ast.For,
    around: list[Iteration],
    bodies: list[list[ast.stmt]],
    broken: bool,
    changed: dict[str, Folded],
    scope: Scope,
) -> bool:
    """Emit a loop if all iterations are written alike, and their statements one by one otherwise.

    Args:
        node: The loop.
        around: Its iterations.
        bodies: The statements of each iteration.
        broken: Whether the last iteration left the loop.
        changed: The constants that the first iteration changed.
        scope: The function.

    Returns:
        Whether the port has a loop.
    """
    if not bodies:
        return False
    if not any(bodies) and not changed:
        require_iterations(around[0], len(bodies), scope, node, left=broken)
        return False
    first, above = around[0], scope.comments_above(node.lineno)
    body = carried.with_variables(bodies[0], changed, scope)
    alike = _are_alike([body, *bodies[1:]]) and not broken
    repeats = len(bodies) > 1 or (not first.fixed and not changed)
    updated = [x for s in body for x in syntax.updated(s) if x != PARAMS]
    collected = _collected(first) if updated else None
    alike &= not updated or collected is not None
    if alike and first.iterable is not None and repeats:
        scope.begin(node)
        carried.start(body, changed, scope)
        if collected is not None:
            _write_updating(node, first, collected, body, updated[0], scope)
        else:
            scope.emit(ast.For(first.target(), first.iterable, body, []))
        loop = next(x for x in reversed(scope.body) if isinstance(x, ast.For))
        on_statement(loop).comments = tuple(above)
        return True
    require_iterations(first, len(bodies), scope, node, left=broken)
    if len(bodies) > 1 and constants(body, bodies[1]) is not None:
        carried.start(body, changed, scope)
        bodies[0] = body
    for statement in next(filter(None, bodies), [])[:1]:
        put_comments_above(statement, above)
    name_containers(around, scope)
    number = scope.run.new_unrolling()
    for iteration, body in zip(around, bodies, strict=False):
        unroll(body, iteration, number, scope, node)
    last = around[len(bodies) - 1]
    for name, value in scope.values.items():
        scope.values[name] = resolve(value, last.resolved)
    return False


def _are_alike(bodies: list[list[ast.stmt]]) -> bool:
    """Return whether every iteration of a loop is written alike."""
    return all(syntax.same(bodies[0], other) for other in bodies[1:])


_Collected = tuple[ast.Subscript | ast.Name, ast.expr]


def _collected(iteration: Iteration) -> _Collected | None:
    """Return the modules of a loop and what stands for one of them, if it is one list of them."""
    modules, element = iteration.iterable, iteration.target()
    if isinstance(modules, ast.Call) and len(modules.args) == 1 and isinstance(element, ast.Tuple):
        modules, element = modules.args[0], element.elts[1]  # enumerate
    if not isinstance(modules, ast.Subscript | ast.Name):
        return None  # zip, or the modules are those of a loop around this one
    if not isinstance(element, ast.Tuple):
        return modules, element
    whole = all(isinstance(x, ast.Name) and x.id != "_" for x in element.elts)
    return (modules, element) if whole else None


def _write_updating(
    node: ast.For,
    iteration: Iteration,
    found: _Collected,
    body: list[ast.stmt],
    variable: str,
    scope: Scope,
) -> None:
    """Emit a loop over modules that change their buffers: it collects their new params."""
    assert iteration.iterable is not None
    modules, element = found
    label = modules.slice.value if isinstance(modules, ast.Subscript) else "modules"  # pyright: ignore[reportAttributeAccessIssue]
    collected = scope.fresh(str(label))
    scope.emit(ast.Assign([ast.Name(collected, ast.Store())], ast.List([], ast.Load())))
    new: ast.expr = syntax.name(variable)
    if isinstance(element, ast.Tuple):  # of a list of pairs
        names = [syntax.name(x.id) for x in element.elts if isinstance(x, ast.Name)]
        new = ast.List([*names], ast.Load())
    append = syntax.append_to(syntax.name(collected), new)
    scope.emit(ast.For(iteration.target(), iteration.iterable, [*body, append], []))
    state.store(modules, syntax.name(collected), scope, node)


def while_loop(node: ast.While, scope: Scope) -> None:
    for _ in range(LONGEST_LOOP):
        test = scope.run.evaluate(node.test, scope)
        if not conditions.truth(test, node.test, scope):
            return
        try:
            scope.run.execute(node.body, scope)
        except Continued:
            continue
        except Broken:
            return
    raise scope.refuse(
        f"a loop of more than {LONGEST_LOOP} iterations; use operators on whole tensors", node
    )
