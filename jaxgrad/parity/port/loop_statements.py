"""Interpret loops: written as loops if every turn is written alike, else turn by turn."""

from __future__ import annotations

import ast
import copy

from jaxgrad.parity.port import expressions, state, syntax
from jaxgrad.parity.port.loops import Turn, resolve, turns
from jaxgrad.parity.port.scope import Broken, Continued, Returned, Scope
from jaxgrad.parity.port.values import Module


LONGEST_LOOP = 10_000


def for_loop(node: ast.For, scope: Scope) -> None:
    around = list(turns(node.target, node.iter, scope))
    if len(around) > LONGEST_LOOP:
        raise scope.refuse(f"a loop of {len(around)} turns", node)
    names = set(scope.names)
    bodies: list[list[ast.stmt]] = []
    broken, returned = False, None
    for turn in around:
        turn.enter(scope)
        modules = {
            v.code.id
            for v in turn.variables.values()
            if isinstance(v, Module) and isinstance(v.code, ast.Name)
        }
        scope.turning |= modules
        scope.names = names | set(turn.resolved)
        with scope.block() as body:
            try:
                scope.run.execute(node.body, scope)
            except Continued:
                pass
            except Broken:
                broken = True
            except Returned as result:
                broken, returned = True, Returned(resolve(result.value, turn.resolved))
        scope.turning -= modules
        bodies.append(body)
        if broken:
            break
    _write_loop(node, around, bodies, broken, scope)
    if returned is not None:
        raise returned
    if node.orelse and not broken:
        scope.run.execute(node.orelse, scope)


def _write_loop(
    node: ast.For, around: list[Turn], bodies: list[list[ast.stmt]], broken: bool, scope: Scope
) -> None:
    """Emit a loop if all turns are written alike, and their statements one by one otherwise."""
    if not any(bodies):
        return
    first = around[0]
    alike = all(_same(bodies[0], body) for body in bodies[1:]) and not broken
    if alike and first.iterable is not None and (len(bodies) > 1 or not first.fixed):
        scope.line = node
        changed = [u for s in bodies[0] if (u := s.__dict__.get("updates"))]
        if changed:
            _write_updating(node, first, bodies[0], changed[0], scope)
        else:
            scope.emit(ast.For(first.target(), first.iterable, bodies[0], []))
        return
    if not first.fixed:
        scope.assume(node, f"the loop takes {len(bodies)} turns")
        if first.iterable is not None and not broken:
            length = syntax.call("len", first.iterable)
            test = ast.Compare(length, [ast.Eq()], [syntax.constant(len(bodies))])
            scope.emit(
                ast.Assert(test, syntax.constant("the loop of the torch program was unrolled"))
            )
    for turn, body in zip(around, bodies, strict=False):
        for original in body:
            statement, after = _separate(original, turn, scope)
            new = syntax.substitute(statement, turn.resolved)
            new.__dict__.update(
                {
                    k: statement.__dict__[k]
                    for k in ("comments", "trailing")
                    if k in statement.__dict__
                }
            )
            scope.body.append(new)
            if after is not None:
                state.store(*after, scope, node)
    last = around[len(bodies) - 1]
    for name, value in scope.values.items():
        scope.values[name] = resolve(value, last.resolved)


def _separate(
    statement: ast.stmt, turn: Turn, scope: Scope
) -> tuple[ast.stmt, tuple[ast.expr, ast.expr] | None]:
    """Split `x, block = f(block, x)` of an unrolled loop: its new params go to their place."""
    variable = statement.__dict__.get("updates")
    if variable is None:
        return statement, None
    label = scope.fresh(variable)
    new = copy.deepcopy(statement)
    for name in ast.walk(new):
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and name.id == variable:
            name.id = label
    return new, (turn.resolved[variable], syntax.name(label))


def _write_updating(
    node: ast.For, turn: Turn, body: list[ast.stmt], variable: str, scope: Scope
) -> None:
    """Emit a loop over modules that change their buffers: it collects their new params."""
    modules = turn.iterable
    if isinstance(modules, ast.Call) and len(modules.args) == 1:
        modules = modules.args[0]  # enumerate
    if not isinstance(modules, ast.Subscript | ast.Name):
        raise scope.refuse("a loop over several lists of modules that change their buffers", node)
    label = modules.slice.value if isinstance(modules, ast.Subscript) else "modules"  # pyright: ignore[reportAttributeAccessIssue]
    collected = scope.fresh(str(label))
    scope.emit(ast.Assign([ast.Name(collected, ast.Store())], ast.List([], ast.Load())))
    append = syntax.call(syntax.attribute(syntax.name(collected), "append"), syntax.name(variable))
    assert turn.iterable is not None
    scope.emit(ast.For(turn.target(), turn.iterable, [*body, ast.Expr(append)], []))
    state.store(modules, syntax.name(collected), scope, node)


def _same(left: list[ast.stmt], right: list[ast.stmt]) -> bool:
    return len(left) == len(right) and all(
        syntax.same(a, b) for a, b in zip(left, right, strict=True)
    )


def while_loop(node: ast.While, scope: Scope) -> None:
    for _ in range(LONGEST_LOOP):
        test = scope.run.evaluate(node.test, scope)
        if not expressions.truth(test, node.test, scope):
            return
        try:
            scope.run.execute(node.body, scope)
        except Continued:
            continue
        except Broken:
            return
    raise scope.refuse(f"a loop of more than {LONGEST_LOOP} turns", node)
