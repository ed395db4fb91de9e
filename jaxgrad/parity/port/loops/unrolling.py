"""Emit the statements of one iteration of a loop that the port does not have as a loop."""

from __future__ import annotations

import ast
import collections
import copy
from collections.abc import Sequence

from jaxgrad.parity.port.loops.loops import Iteration
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.values import state
from jaxgrad.parity.port.values.computed import has_call
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Module


def modules_of(iteration: Iteration) -> set[str]:
    """Return the variables of a loop that are modules."""
    values = iteration.variables.values()
    return {v.code.id for v in values if isinstance(v, Module) and isinstance(v.code, ast.Name)}


def require_iterations(
    iteration: Iteration, count: int, scope: Scope, node: ast.AST, *, asserted: bool = True,
    left: bool = False,
) -> None:  # fmt: skip
    """Note that a loop over a size has the number of iterations that it has for the example inputs.

    Args:
        iteration: An iteration of the loop.
        count: The number of iterations.
        scope: The function.
        node: The loop.
        asserted: Whether the port can assert it here.
        left: Whether the last iteration leaves the loop by `break` or `return`.
    """
    if iteration.fixed:
        return
    scope.assume(node, f"the loop runs {count} times")
    times = "once" if count == 1 else f"{count} times"
    message = f"this port holds for a loop that runs {times}, as in the example"
    for code, length in iteration.lengths if asserted else ():
        test = syntax.call("len", code)
        relation, number = (ast.GtE(), count) if left else (ast.Eq(), length)
        compared = ast.Compare(test, [relation], [syntax.constant(number)])
        scope.emit(ast.Assert(compared, syntax.constant(message)))


def name_containers(around: list[Iteration], scope: Scope) -> None:
    """Give each container that calls make a name, because each iteration reads an element of it."""
    for code in around[0].computed if around else ():
        named = _Named(code, scope.once(code, "parts"))
        for iteration in around:
            iteration.resolved.update({k: named(x) for k, x in iteration.resolved.items()})
            iteration.unpacked[:] = map(named, iteration.unpacked)


class _Named(ast.NodeTransformer):
    """Replaces a container where an element of it is read."""

    def __init__(self, code: ast.expr, name: ast.expr) -> None:
        self.code, self.name = code, name

    def __call__(self, code: ast.expr) -> ast.expr:
        return self.visit(copy.deepcopy(code))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if syntax.same(node.value, self.code):
            return ast.Subscript(copy.deepcopy(self.name), node.slice, node.ctx)
        return self.generic_visit(node)


def name_elements(iteration: Iteration, readers: Sequence[ast.AST], scope: Scope) -> None:
    """Name each variable that a call computes in this iteration, if it is read more than once."""
    reads = collections.Counter(x for node in readers for x in syntax.names_in(node))
    for code in iteration.unpacked:
        parts = {k: x for k, x in iteration.resolved.items() if reads[k]}
        within = {k: x for k, x in parts.items() if any(syntax.same(code, y) for y in ast.walk(x))}
        if len(within) > 1 and has_call(code):
            named = _Named(code, scope.once(code, "parts"))
            iteration.resolved.update({k: named(x) for k, x in within.items()})
    for name, part in iteration.resolved.items():
        if reads[name] > 1 and has_call(part):
            iteration.resolved[name] = scope.once(part, name)


def unroll(
    body: list[ast.stmt], iteration: Iteration, number: int, scope: Scope, node: ast.AST
) -> None:
    """Emit the statements of an iteration, with its values for the variables of the loop.

    Args:
        body: The statements, which have the variables.
        iteration: The iteration.
        number: The number of the loop.
        scope: The function.
        node: The loop of the torch program.
    """
    updated = set().union(*map(syntax.updated, body))
    assigned = set().union(*map(syntax.assigned, body)) - updated
    for name in assigned & iteration.resolved.keys():
        scope.assign(
            name, iteration.resolved.pop(name)
        )  # the body gives the variable another value
        on_statement(scope.body[-1]).unrolled = number
    name_elements(iteration, body, scope)
    for statement in body:
        new = syntax.substitute(statement, iteration.resolved)
        on_statement(new).unrolled = number
        scope.body.append(new)
        for update in ast.walk(new):
            if isinstance(update, ast.Assign) and on_statement(update).update is not None:
                state.note(update, scope, node)
