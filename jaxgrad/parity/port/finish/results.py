"""Leave out results that no caller reads: `return x, None` becomes `return x`.

What only they needed goes with them: the statements that computed them, and arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxgrad.parity.port.merging.redirection import calls_of, uses_of
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.cleaning import cleaned
from jaxgrad.parity.port.source.written import Written


def without_unread_results(functions: Sequence[Written]) -> list[Written]:
    """Return the functions without results that no caller reads; the entry keeps its own."""
    own = [w for w in functions if not w.pinned and w.hole is None]
    own = [w for w in own if isinstance(w.node, ast.FunctionDef)]
    changed = True
    while changed:
        changed = False
        for written in own:
            if uses_of(written.name, functions) > len(calls_of(written.name, functions)):
                continue  # it is an argument, as in `jax.checkpoint(block)(p, x)`
            changed |= _shorten(written, functions)
            changed |= _drop_parameters(written, functions)
    return list(functions)


def _shorten(written: Written, functions: Sequence[Written]) -> bool:
    """Leave unread parts out of the tuples that a function returns, and out of its callers."""
    results = list(_returns(written.node.body))
    counts = {len(_parts(r)) for r in results}
    calls = _assigned_calls(written.name, functions)
    if len(counts) != 1 or not calls or len(calls) < len(calls_of(written.name, functions)):
        return False
    (count,) = counts
    if count < 2:
        return False
    for caller, call in calls:
        if isinstance(call.targets[0], ast.Name):
            _unpack(caller, call, [syntax.text(x) for x in _parts(results[-1])])
    tuples = [call.targets[0] for _, call in calls]
    if not all(isinstance(x, ast.Tuple) and len(x.elts) == count for x in tuples):
        return False
    read = [(x.elts, _reads(caller)) for (caller, _), x in zip(calls, tuples, strict=True)]  # pyright: ignore[reportAttributeAccessIssue]
    kept = [n for n in range(count) if any(_is_read(parts[n], names) for parts, names in read)]
    if not kept or len(kept) == count:
        return False
    for result in results:
        result.value = _chosen(_parts(result), kept, ast.Load())
    for _, call in calls:
        call.targets = [_chosen(call.targets[0].elts, kept, ast.Store())]  # pyright: ignore[reportAttributeAccessIssue]
    written.take_body(cleaned(written.node.body, left=True))
    return True


def _parts(result: ast.Return) -> list[ast.expr]:
    """Return the parts of a tuple that is returned; another result has none."""
    return result.value.elts if isinstance(result.value, ast.Tuple) else []


def _chosen(parts: Sequence[ast.expr], kept: Sequence[int], context: ast.expr_context) -> ast.expr:
    chosen = [parts[n] for n in kept]
    return chosen[0] if len(chosen) == 1 else ast.Tuple(chosen, context)


def _reads(written: Written) -> set[str]:
    """Return the variables that a function reads."""
    return {*syntax.variables_read(written.node)}


def _is_read(target: ast.expr, names: set[str]) -> bool:
    return not isinstance(target, ast.Name) or target.id in names


def _unpack(caller: Written, call: ast.Assign, names: Sequence[str]) -> None:
    """Write `y = f(x)` with `y[1]` as `_, b = f(x)` with `b`, if nothing reads `y` as a whole."""
    target = call.targets[0]
    assert isinstance(target, ast.Name)
    nodes = list(ast.walk(caller.node))
    uses = [n for n in nodes if syntax.is_name(n, target.id)]
    parts = [
        n for n in nodes
        if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)
        and n.value.id == target.id and isinstance(n.slice, ast.Constant)
        and type(n.slice.value) is int and 0 <= n.slice.value < len(names)
    ]  # fmt: skip
    if len(uses) != len(parts) + 1 or not parts:
        return
    places: list[int] = sorted({n.slice.value for n in parts})  # pyright: ignore[reportAttributeAccessIssue, reportAssignmentType]
    if not all(names[place].isidentifier() for place in places):
        return
    taken = syntax.all_names(caller.node) | syntax.updated(caller.node)
    chosen: dict[int, str] = {}
    for place in places:
        chosen[place] = syntax.unique(names[place], taken)
        taken.add(chosen[place])
    _Parts(target.id, chosen).visit(caller.node)
    labels = [chosen.get(n, "_") for n in range(len(names))]
    call.targets = [ast.Tuple([ast.Name(x, ast.Store()) for x in labels], ast.Store())]


class _Parts(ast.NodeTransformer):
    def __init__(self, whole: str, names: dict[int, str]) -> None:
        self.whole, self.names = whole, names

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if syntax.is_name(node.value, self.whole):
            return syntax.name(self.names[node.slice.value])  # pyright: ignore[reportAttributeAccessIssue]
        self.generic_visit(node)
        return node


def _drop_parameters(written: Written, functions: Sequence[Written]) -> bool:
    """Leave out the parameters that a function does not read."""
    arguments: ast.arguments = written.node.args
    read = _reads(written)
    unread = [n for n, a in enumerate(arguments.args) if a.arg not in read]
    if not unread or arguments.defaults or arguments.vararg:
        return False
    calls = calls_of(written.name, functions)
    given = [x for call in calls for x in call.args]
    if any(isinstance(x, ast.Starred) for x in given):
        return False
    if any(len(call.args) < len(arguments.args) for call in calls):
        return False
    for holder in (arguments, *calls):
        holder.args = [x for n, x in enumerate(holder.args) if n not in unread]  # pyright: ignore[reportAttributeAccessIssue]
    for caller in functions:
        if isinstance(caller.node, ast.FunctionDef) and calls_of(written.name, [caller]):
            caller.node.body = cleaned(caller.node.body)
    return True


def _returns(body: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    """Yield the statements that return from a function, not from one inside of it."""
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for block in ("body", "orelse"):
                yield from _returns(getattr(statement, block, []))


def _assigned_calls(name: str, functions: Sequence[Written]) -> list[tuple[Written, ast.Assign]]:
    """Return the statements that assign what a function returns, each with its function."""
    return [
        (w, n)
        for w in functions
        for n in ast.walk(w.node)
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
        if syntax.is_name(n.value.func, name)
    ]
