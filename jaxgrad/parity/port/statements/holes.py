"""Leave a refused statement to be written by hand: it becomes a function that raises.

The statement runs in torch, so that the rest of the module can be interpreted on its results.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.refusals import Hole, Place, PortError
from jaxgrad.parity.port.source.source import free_names
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.kinds_of_values import Closure, Size, Value, is_dynamic
from jaxgrad.parity.port.values.leaving import Returned
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.values import code_of, lift, real_of, tensors_in


RESULT = "result"


@dataclasses.dataclass(frozen=True)
class Before:
    """A function that is being interpreted, before one of its statements."""

    values: dict[str, Value]
    length: int  # of the body
    versions: dict[int, int]  # of the tensors


def before(scope: Scope) -> Before:
    """Return what is needed to take a statement back."""
    return Before(dict(scope.values), len(scope.body), _versions(scope.values))


def leave(refusal: PortError, node: ast.stmt, start: Before, scope: Scope) -> None:
    """Write a refused statement as the call of a function that raises.

    Raises:
        PortError: The statement cannot be a function: it is the refusal.
        Returned: The statement is a `return`.
    """
    if _versions(start.values) != start.versions or _leaves_function(node):
        raise refusal
    del scope.body[start.length :]
    scope.values.clear()
    scope.values.update(start.values)
    read = [n for n in dict.fromkeys(syntax.names_in(node)) if n in scope.values]
    read.sort(key=lambda name: name != "self")
    if any(isinstance(scope.values[n], Closure) for n in read):
        raise refusal
    passed = _passed(read, refusal, scope)
    space = _run(node, read, refusal, scope)
    changed = [n for n in read if _is_changed(scope.values[n], start.versions)]
    names = list(dict.fromkeys([*_assigned(node), *changed]))
    names = [RESULT] if isinstance(node, ast.Return) else [n for n in names if n in space]
    written = _function(node, list(passed), {n: space[n] for n in names}, refusal, scope)
    call = syntax.call_written(written.name, *passed.values())
    if isinstance(node, ast.Return):
        raise Returned(_value(space[RESULT], call))
    if not names:
        scope.emit(ast.Expr(call))
        return
    targets: list[ast.expr] = [ast.Name(scope.local(n), ast.Store()) for n in names]
    scope.emit(
        ast.Assign([targets[0] if len(names) == 1 else ast.Tuple(targets, ast.Store())], call)
    )
    for name in names:
        scope.values[name] = _value(space[name], syntax.name(scope.local(name)))


def _versions(values: dict[str, Value]) -> dict[int, int]:
    return {id(t.real): t.real._version for v in values.values() for t in tensors_in(v)}


def _assigned(node: ast.stmt) -> list[str]:
    stores = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [n.id for n in stores]


def _is_changed(value: Value, versions: dict[int, int]) -> bool:
    return any(t.real._version != versions[id(t.real)] for t in tensors_in(value))


def _leaves_function(node: ast.stmt) -> bool:
    """Return whether a statement has a `return`, `break` or `self.x = ...` inside of it."""
    inner = [n for n in ast.walk(node) if n is not node]
    leaves = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.FunctionDef, ast.Lambda)
    sets = any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in inner)
    return sets or any(isinstance(n, leaves) for n in inner)


def _passed(names: list[str], refusal: PortError, scope: Scope) -> dict[str, ast.expr]:
    """Return the arguments of the function: the port's names of what the statement reads."""
    found: dict[str, ast.expr] = {}
    for name in names:
        value = scope.values[name]
        if is_dynamic(value):
            try:
                code = code_of(value)
            except PortError:
                raise refusal from None
            label = PARAMS if name == "self" else scope.renamed.get(name) or name
            found[label if label == PARAMS or label not in RESERVED else f"{label}_"] = code
    return found


def _run(node: ast.stmt, names: list[str], refusal: PortError, scope: Scope) -> dict[str, Any]:
    """Run a statement of the torch program in torch, and return its variables."""
    function: Any = scope.source.function
    space = {**function.__globals__, **free_names(function)}
    statement = copy.deepcopy(node)
    if isinstance(statement, ast.Return):
        value = statement.value or syntax.constant(None)
        statement = ast.copy_location(ast.Assign([ast.Name(RESULT, ast.Store())], value), node)
    tree = ast.fix_missing_locations(ast.Module([statement], []))
    try:
        space |= {name: real_of(scope.values[name]) for name in names}
        exec(compile(tree, scope.source.file, "exec"), space)
    except Exception:  # such as `super()`, or an error of the program itself
        raise refusal from None
    return space


def _value(real: Any, code: ast.expr) -> Value:
    """Return the value of a result; a number is computed by the hand-written function too."""
    if isinstance(real, int | float):
        return Size(real, code)
    return lift(real, code)


def _function(
    node: ast.stmt, parameters: list[str], results: dict[str, Any], refusal: PortError, scope: Scope
) -> Written:
    """Add the function that raises to the port."""
    run, place = scope.run, refusal.place or scope.place(node)
    error = syntax.call("NotImplementedError", syntax.constant(f"{place}: {refusal.reason}"))
    body: list[ast.stmt] = [ast.Raise(error, None)]
    tree = syntax.function("_", [n for n in parameters if n != draws.RNG], body)
    function = scope.source.function
    for other in run.written:
        if other.hole is not None and other.function is function and syntax.same(other.node, tree):
            return other
    name = syntax.unique("by_hand", {w.name for w in run.written} | RESERVED)
    doc = f"Write by hand what {_short(scope.place(node))} does: `{syntax.text(node)}`."
    if results:
        doc += f" It returns {', '.join(f'{n}: {_type(x)}' for n, x in results.items())}."
    hole = Hole(place, refusal.reason, name)
    written = Written(name, function, tree, None, doc, pinned=True, hole=hole)
    run.written.append(written)
    return written


def holes_of(functions: Sequence[Written]) -> tuple[Hole, ...]:
    """Return the holes of a port, under the names that their functions have in the end."""
    return tuple(dataclasses.replace(w.hole, name=w.name) for w in functions if w.hole is not None)


def note_of(holes: Sequence[Hole]) -> list[str]:
    """Return what the docstring of the file says about its holes."""
    if not holes:
        return []
    return ["To be written by hand: " + "; ".join(f"{h.name} ({_short(h.place)})" for h in holes)]


def _short(place: Place) -> str:
    return str(Place(place.file, place.line))


def _type(real: Any) -> str:
    if isinstance(real, torch.Tensor):
        return f"{str(real.dtype).removeprefix('torch.')}{list(real.shape)}"
    return type(real).__name__
