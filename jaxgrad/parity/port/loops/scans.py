"""Write loops over layers of equal structure as `lax.scan` over their stacked params."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor, nn

from jaxgrad.parity.port.loops.loops import Iteration
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Module


STACKED = "stacked"
STACKED_DOC = (
    "Return the params of equal layers with a leading axis; stacked ones stay as they are."
)
STACKED_SOURCE = f"""
def {STACKED}(layers):
    return jax.tree.map(lambda *xs: jnp.stack(xs), *layers) if isinstance(layers, list) else layers
"""

Kinds = dict[str, tuple[Any, ...]]  # the shape and dtype of each variable that a loop assigns


def kinds_of(node: ast.For, scope: Scope) -> Kinds:
    """Return the shape and dtype of each variable that a loop assigns.

    A number has none, because a scan turns it into an array.
    """
    names = {name for statement in node.body for name in syntax.assigned(statement)}
    values = {name: scope.values[name].real for name in names if name in scope.values}
    return {
        n: (*x.shape, x.dtype) if isinstance(x, Tensor) else (type(x),)
        for n, x in values.items()
        if type(x) not in (int, float)
    }


def is_uniform(around: Sequence[Iteration], kinds: Sequence[Kinds]) -> bool:
    """Whether a loop goes over equal layers, and no variable changes its shape or dtype.

    Args:
        around: The iterations of the loop.
        kinds: The variables that it assigns, before the first iteration and after each iteration.
    """
    first = around[0]
    modules = [
        v for iteration in around for v in iteration.variables.values() if isinstance(v, Module)
    ]
    if not isinstance(first.pattern, ast.Name) or len(modules) != len(around) or len(modules) < 2:
        return False
    if not isinstance(first.iterable, ast.Subscript) or len(kinds) != len(around) + 1:
        return False
    before, *after = kinds
    same = all(k == after[0] for k in after) and before.items() <= after[0].items()
    return same and all(_leaves(m.real) == _leaves(modules[0].real) for m in modules)


def _leaves(module: nn.Module) -> list[tuple[Any, ...]]:
    """Return the name, shape and dtype of each tensor, and whether two names share it."""
    named = module.state_dict(keep_vars=True).items()
    first: dict[int, str] = {}
    return [(n, x.shape, x.dtype, first.setdefault(id(x), n)) for n, x in named]


def scanned(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with `lax.scan` in place of their uniform loops."""
    split = draws.split_function(functions)
    found = [_scan_loops(written.node, split) for written in functions if _is_function(written)]
    if not any(found):
        return list(functions)
    return [Written.helper(STACKED_SOURCE, STACKED_DOC, scanned), *functions]


def _is_function(written: Written) -> bool:
    return isinstance(written.node, ast.FunctionDef)


def _scan_loops(function: ast.FunctionDef, split: str) -> bool:
    """Replace the uniform loops of a function, and return whether there were any."""
    changed = False
    for body, position in list(_loops(function)):
        loop = body[position]
        assert isinstance(loop, ast.For)
        new = _scan(loop, function, split)
        if new is not None:
            body[position : position + 1] = new
            changed = True
    return changed


def _loops(function: ast.FunctionDef) -> Iterator[tuple[list[ast.stmt], int]]:
    """Yield the place of each uniform loop, the last one of a block first."""
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if not isinstance(block, list):  # a lambda has an expression
                continue
            for n in reversed(range(len(block))):
                if isinstance(block[n], ast.For) and on_statement(block[n]).uniform:
                    yield block, n


def _scan(loop: ast.For, function: ast.FunctionDef, split: str) -> list[ast.stmt] | None:
    """Return a loop as a function of a layer and its scan; None if a scan cannot carry it."""
    layers = draws.split_each(copy.deepcopy(loop.body), function, split)
    carried = _carried(layers, loop, function)
    if not carried:
        return None
    taken = syntax.all_names(function) | {function.name}
    step = syntax.unique("layer", taken)
    one = len(carried) == 1
    label = carried[0] if one else syntax.unique("carry", taken)
    state = _names(carried, ast.Load())
    body = [] if one else [ast.Assign([_names(carried, ast.Store())], syntax.name(label))]
    returned = ast.Return(ast.Tuple([state, syntax.constant(None)], ast.Load()))
    inner = syntax.function(step, [label, syntax.text(loop.target)], [*body, *layers, returned])
    on_statement(inner).comments = on_statement(loop).comments
    stack = syntax.call_written(STACKED, loop.iter)
    scan = syntax.call("lax.scan", syntax.name(step), state, stack)
    results = ast.Tuple([_names(carried, ast.Store()), ast.Name("_", ast.Store())], ast.Store())
    return [inner, ast.Assign([results], scan)]


def _names(names: Sequence[str], context: ast.expr_context) -> ast.expr:
    if len(names) == 1:
        return ast.Name(names[0], context)
    return ast.Tuple([ast.Name(n, context) for n in names], context)


def _carried(body: list[ast.stmt], loop: ast.For, function: ast.FunctionDef) -> list[str]:
    """Return the variables that one iteration passes to the next, or to what follows the loop.

    There are none if one of them has no value before the loop.
    """
    assigned = sorted({n for statement in body for n in syntax.assigned(statement)})
    early = _read_first(body, set())
    around = list(_around(loop, function))
    later = {n for statement in around for n in syntax.names_in(statement)}
    parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    before = parameters | {n for statement in around for n in syntax.assigned(statement)}
    carried = [n for n in assigned if n in early or n in later]
    return carried if all(n in before for n in carried) else []


def _read_first(body: Sequence[ast.stmt], assigned: set[str]) -> set[str]:
    """Return the names that statements read before they assign them; `assigned` gets theirs."""
    early: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.If):
            branches = [set(assigned), set(assigned)]
            early |= set(syntax.names_in(statement.test)) - assigned
            early |= _read_first(statement.body, branches[0])
            early |= _read_first(statement.orelse, branches[1])
            assigned |= branches[0] & branches[1]
        else:
            early |= set(syntax.names_in(statement)) - assigned
            assigned |= syntax.assigned(statement) if isinstance(statement, ast.Assign) else set()
    return early


def _around(loop: ast.For, function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the statements of a function outside of a loop."""

    def visit(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            if statement is loop:
                continue
            if any(node is loop for node in ast.walk(statement)):
                for block in ("body", "orelse"):
                    yield from visit(getattr(statement, block, []))
            else:
                yield statement

    yield from visit(function.body)
