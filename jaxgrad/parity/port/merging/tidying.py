"""Leave out functions that only pass their arguments on, and functions that nothing calls."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.written import Written


def tidied(functions: Sequence[Written]) -> list[Written]:
    """Return the functions that the port needs; the last one is the entry.

    A decorator of the torch program leaves a function that only calls another one. The other one
    takes its place, with its name and its class.
    """
    kept = list(functions)
    for written in functions:
        target = _passes_on_to(written, kept)
        if target is not None:
            _take_place(target, written, kept)
    return _called_from(kept[-1], kept)


def rename_parameters(function: Written, names: Mapping[str, str]) -> None:
    """Rename parameters of a function; a variable that has one of the names becomes `name_2`."""
    parameters = [a.arg for a in function.node.args.args]
    taken = {n for s in function.node.body for n in syntax.names_in(s)} - set(parameters)
    names = {n: f"{n}_2" for n in names.values() if n in taken} | dict(names)
    for argument in function.node.args.args:
        argument.arg = names.get(argument.arg, argument.arg)
    for statement in function.node.body:
        syntax.rename_variables(statement, names)


def _passes_on_to(written: Written, functions: Sequence[Written]) -> Written | None:
    """Return the function that is called with the same arguments and does all the work."""
    node = written.node
    if not isinstance(node, ast.FunctionDef) or node.args.kwonlyargs:
        return None
    call = _only_call(node.body)
    if call is None or call.keywords or not syntax.is_written(call.func):
        return None
    given = [a.id if isinstance(a, ast.Name) else "" for a in call.args]
    order = [a.arg for a in node.args.args]
    if sorted(given) != sorted(order):
        return None
    name = call.func.id
    others = (w for w in functions if w is not written and isinstance(w.node, ast.FunctionDef))
    target = next((w for w in others if w.name == name), None)  # a class stays a class
    if target is not None and given != order:
        return _reordered(target, [given.index(x) for x in order], functions)
    return target


def _reordered(target: Written, order: list[int], functions: Sequence[Written]) -> Written | None:
    """Give a function its parameters in another order, unless others call it too."""
    calls = [syntax.names_in(w.node).count(target.name) for w in functions]
    if sum(calls) != 1 or not isinstance(target.node, ast.FunctionDef):
        return None
    parameters = target.node.args.args
    target.take_arguments([parameters[n] for n in order])
    return target


def _only_call(body: list[ast.stmt]) -> ast.Call | None:
    """Return `f(x)` of `return f(x)` and of `y = f(x); return y`."""
    last = body[-1]
    value = last.value if isinstance(last, ast.Return) else None
    if len(body) == 2 and isinstance(body[0], ast.Assign) and value is not None:
        is_returned = isinstance(value, ast.Name) and syntax.is_name(body[0].targets[0], value.id)
        value = body[0].value if is_returned else None
    elif len(body) != 1:
        return None
    return value if isinstance(value, ast.Call) else None


def _take_place(target: Written, written: Written, functions: list[Written]) -> None:
    """Let `target` be called under the name of the function that called it."""
    old = target.name
    target.take_identity(written)
    position = functions.index(written)
    functions.remove(target)
    functions[position - 1] = target
    for other in functions:
        syntax.rename_written(other.node, {old: target.name})


def _called_from(entry: Written, functions: Sequence[Written]) -> list[Written]:
    """Return the functions that the entry reaches, in their order."""
    by_name = {w.name: w for w in functions}
    reached, waiting = {entry.name}, [entry]
    while waiting:
        for name in syntax.names_in(waiting.pop().node):
            if name in by_name and name not in reached:
                reached.add(name)
                waiting.append(by_name[name])
    return [w for w in functions if w.name in reached]
