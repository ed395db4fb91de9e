"""Leave a refused statement to be written by hand: it becomes a function that raises.

The statement runs in torch, so that the rest of the module can be interpreted on its results. No
function that JAX traces returns an array whose size depends on values, so the statements that use
such an array are left together with the one that makes it.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch

from jaxgrad._core.source import short_name
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.refusals import Hole, Place, PortError
from jaxgrad.parity.port.source.source import free_names
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.leaving import Returned
from jaxgrad.parity.port.values.scope import Mark, Scope
from jaxgrad.parity.port.values.value_types import Closure, Size, Value, is_dynamic
from jaxgrad.parity.port.values.values import code_of, lift, real_of, tensors_in


RESULT = "result"
DEPENDS = "makes a size that depends on values"  # in the reason of a refusal


@dataclasses.dataclass(frozen=True)
class Before:
    """A function that is being interpreted, before one of its statements."""

    mark: Mark
    versions: dict[int, int]  # of the tensors


def before(scope: Scope) -> Before:
    """Return what is needed to take a statement back and to see which tensors it changes."""
    return Before(scope.mark(), _versions(scope.values))


def leave(refusal: PortError, after: Sequence[ast.stmt], start: Before, scope: Scope) -> int:
    """Write a refused statement as the call of a function that raises.

    Args:
        refusal: Why it is refused.
        after: The statement, and those after it in its block.
        start: The function before the statement.
        scope: The function.

    Returns:
        How many of the statements the call stands for.

    Raises:
        PortError: The statement cannot be a function: it is the refusal.
        Returned: The last of the statements is a `return`.
    """
    node = after[0]
    if _versions(start.mark.values) != start.versions or _leaves_function(node):
        raise refusal
    # The hole makes the statement's updates of buffers, if there are any.
    scope.take_back(dataclasses.replace(start.mark, stateful=scope.stateful))
    nodes, sized = _covered(after, refusal, scope)
    read = _read(nodes, scope)
    if any(isinstance(scope.values[n], Closure) for n in read):
        raise refusal
    passed = _passed(read, refusal, scope)
    try:
        space = _run(nodes, {name: real_of(scope.values[name]) for name in read}, scope)
    except Exception:  # such as `super()`, or an error of the program itself
        raise refusal from None
    returns = isinstance(nodes[-1], ast.Return)
    changed = [n for n in read if _is_changed(scope.values[n], start.versions)]
    names = list(dict.fromkeys([*(n for s in nodes for n in syntax.stored_names(s)), *changed]))
    names = [RESULT] if returns else [n for n in names if n in space and n not in sized]
    results = {n: space[n] for n in names}
    depends = {n: x for n, x in space.items() if n in sized}
    written = _function(nodes, list(passed), results, depends, refusal, scope)
    call = syntax.call_written(written.name, *passed.values())
    if returns:
        raise Returned(_value(space[RESULT], call))
    if not names:
        scope.emit(ast.Expr(call))
        return len(nodes)
    targets: list[ast.expr] = [ast.Name(scope.local(n), ast.Store()) for n in names]
    scope.emit(
        ast.Assign([targets[0] if len(names) == 1 else ast.Tuple(targets, ast.Store())], call)
    )
    for name in names:
        scope.values[name] = _value(space[name], syntax.name(scope.local(name)))
    return len(nodes)


def _covered(
    after: Sequence[ast.stmt], refusal: PortError, scope: Scope
) -> tuple[Sequence[ast.stmt], set[str]]:
    """Return the statements of a hole, and the variables whose sizes depend on values.

    The statements reach to the last one that reads such a variable.

    Raises:
        PortError: Such a variable is read elsewhere, or one of the statements leaves the function.
    """
    nodes = after[:1]
    if scope.run.leaves_holes == "each" or DEPENDS not in refusal.reason:
        return nodes, set()
    sized = _sized(nodes, scope)
    while users := [n for n, s in enumerate(after) if sized & set(syntax.names_in(s))]:
        if users[-1] < len(nodes):
            break
        nodes = after[: users[-1] + 1]
        if any(map(_leaves_function, nodes)):
            raise _cannot_return(sized, refusal)
        sized = _sized(nodes, scope) | sized
    end = nodes[-1].end_lineno or nodes[-1].lineno
    names = [n for n in ast.walk(scope.source.node) if isinstance(n, ast.Name) and n.id in sized]
    if any(n.lineno > end for n in names):
        raise _cannot_return(sized, refusal)
    return nodes, sized


def _cannot_return(sized: set[str], refusal: PortError) -> PortError:
    listed = " and ".join(f"`{name}`" for name in sorted(sized))
    reason = f"a function by hand cannot return {listed} either, because its size depends on values"
    remedy = "use a mask instead of an index, such as torch.where(mask, x, 0)"
    return PortError(f"{refusal.reason}; {reason}: {remedy}", refusal.place)


def _read(nodes: Sequence[ast.stmt], scope: Scope) -> list[str]:
    """Return the variables that statements read, `self` first."""
    found: list[str] = []
    own: set[str] = set()
    for node in nodes:
        found += [n for n in syntax.names_in(node) if n in scope.values and n not in own]
        own |= set(syntax.stored_names(node))
    return sorted(dict.fromkeys(found), key=lambda name: name != "self")


def _sized(nodes: Sequence[ast.stmt], scope: Scope) -> set[str]:
    """Return the variables of statements that have another size for other values of their inputs.

    The statements run on copies, so that nothing changes.
    """
    read = _read(nodes, scope)
    shapes: list[dict[str, torch.Size]] = []
    for change in (torch.clone, torch.zeros_like, torch.ones_like, _reversed):
        with contextlib.suppress(Exception), torch.random.fork_rng(), torch.no_grad():
            values = {name: _changed(real_of(scope.values[name]), change) for name in read}
            space = _run(nodes, values, scope)
            shapes.append({n: x.shape for n, x in space.items() if isinstance(x, torch.Tensor)})
    names = {RESULT, *(n for s in nodes for n in syntax.stored_names(s))}
    return {n for n in names if len({own[n] for own in shapes if n in own}) > 1}


def _changed(real: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Return a copy of a value in which each tensor is changed; a module has its own tensors."""
    if isinstance(real, torch.Tensor):
        return change(real)
    if isinstance(real, dict):
        return {key: _changed(x, change) for key, x in real.items()}
    if type(real) in (list, tuple):
        return type(real)(_changed(x, change) for x in real)
    return copy.deepcopy(real)


def _reversed(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor in which large values are small."""
    return ~tensor if tensor.dtype is torch.bool else tensor.max() - tensor


def _versions(values: dict[str, Value]) -> dict[int, int]:
    return {id(t.real): t.real._version for v in values.values() for t in tensors_in(v)}


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


def _run(nodes: Sequence[ast.stmt], values: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Run statements of the torch program in torch on some values, and return its variables."""
    function: Any = scope.source.function
    space = {**function.__globals__, **free_names(function), **values}
    statements = copy.deepcopy([*nodes])
    if isinstance(last := statements[-1], ast.Return):
        value = last.value or syntax.constant(None)
        statements[-1] = ast.copy_location(ast.Assign([ast.Name(RESULT, ast.Store())], value), last)
    tree = ast.fix_missing_locations(ast.Module(statements, []))
    exec(compile(tree, scope.source.file, "exec"), space)
    return space


def _value(real: Any, code: ast.expr) -> Value:
    """Return the value of a result; a number is computed by the hand-written function too."""
    if isinstance(real, int | float):
        return Size(real, code)
    return lift(real, code)


def _function(
    nodes: Sequence[ast.stmt], parameters: list[str], results: dict[str, Any],
    sized: dict[str, Any], refusal: PortError, scope: Scope,
) -> Written:  # fmt: skip
    """Add the function that raises to the port."""
    run, place = scope.run, refusal.place or scope.place(nodes[0])
    error = syntax.call("NotImplementedError", syntax.constant(f"{place}: {refusal.reason}"))
    body: list[ast.stmt] = [ast.Raise(error, None)]
    tree = syntax.function("_", [n for n in parameters if n != draws.RNG], body)
    function = scope.source.function
    for other in run.written:
        if other.hole is not None and other.function is function and syntax.same(other.node, tree):
            return other
    name = syntax.unique("by_hand", {w.name for w in run.written} | RESERVED)
    code = "; ".join(map(syntax.text, nodes))
    doc = f"Write by hand what {_lines(nodes, scope)}: `{code}`."
    if results:
        doc += f" It returns {_typed(results)}"
        doc += " for the example inputs; the size depends on values." if RESULT in sized else "."
    if inside := {n: x for n, x in sized.items() if n != RESULT}:
        doc += f" Inside of it, sizes that depend on values: {_typed(inside)} in the example."
    hole = Hole(place, refusal.reason, name, statements=len(nodes))
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


def _lines(nodes: Sequence[ast.stmt], scope: Scope) -> str:
    """Return `line 3 of model.py does`, or `lines 3 to 7 of model.py do`."""
    first, last = scope.place(nodes[0]), scope.place(nodes[-1]).line
    file = short_name(first.file)
    if len(nodes) == 1:
        return f"line {first.line} of {file} does"
    return f"lines {first.line} to {last} of {file} do"


def _typed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {_type(x)}" for name, x in values.items())


def _type(real: Any) -> str:
    if isinstance(real, torch.Tensor):
        return f"{str(real.dtype).removeprefix('torch.')}{list(real.shape)}"
    return type(real).__name__
