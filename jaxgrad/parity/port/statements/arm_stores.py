"""Parameters and buffers that change in one arm of a branch on the value of a tensor.

Both arms return the value of each: `count = lax.cond(test, lambda: p["count"] + 1, lambda:
p["count"])`. The statement after the branch puts it into the params.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Protocol

from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.values import state
from jaxgrad.parity.port.values.equal import same
from jaxgrad.parity.port.values.scope import Scope, Store


class Arm(Protocol):
    """An arm: its statements, the new values that it stores, and the tensors that it changes."""

    body: list[ast.stmt]
    stores: list[Store]
    changed: list[str]


@dataclasses.dataclass(frozen=True)
class Stores:
    """The parameters and buffers that change in a branch.

    Attributes:
        places: Their expressions.
        then: The expressions of their values after the first arm.
        otherwise: Those after the second arm.
        roots: The variables that an arm assigns on the way, which it takes as arguments.
    """

    places: list[ast.expr]
    then: list[ast.expr]
    otherwise: list[ast.expr]
    roots: list[str]


def joined(then: Arm, otherwise: Arm, scope: Scope, node: ast.AST) -> Stores:
    """Return what changes in a branch, and take a statement that only stores out of its arm.

    Raises:
        PortError: A parameter or buffer changes, and the port has no expression for its new value.
    """
    for arm in (then, otherwise):
        lost = next((n for n in arm.changed if not any(_covers(s, n) for s in arm.stores)), None)
        if lost is not None and scope.run.classes is None:
            raise scope.refuse(
                f"{lost!r} changes in one arm of a branch on the value of a tensor; let both arms "
                "assign its new value to a variable, and change it after the branch",
                node,
            )
    places = _places([*then.stores, *otherwise.stores], scope)
    stored = [s.statement for arm in (then, otherwise) for s in arm.stores]
    values = [_values(arm, places, scope) for arm in (then, otherwise)]
    left = [s for arm in (then, otherwise) for s in arm.body if any(s is x for x in stored)]
    changed = [n for arm in (then, otherwise) for n in arm.changed]
    if scope.run.classes is not None and (left or (changed and not places)):
        raise scope.refuse(
            f"{changed[0]!r} changes in one arm of a branch on the value of a tensor, where flax "
            'changes no variable; style="functions" writes it',
            node,
        )
    assigned = {n for arm in (then, otherwise) for s in arm.body for n in syntax.assigned(s)}
    roots = [n for n in dict.fromkeys(param_paths.of(x).owner for x in places) if n in assigned]
    return Stores(places, values[0], values[1], roots)


def _covers(store: Store, path: str) -> bool:
    """Return whether a new value is that of a tensor, or of a module that it is in."""
    keys, parts = list(map(str, param_paths.of(store.place).path)), path.split(".")
    return any(parts[n : n + len(keys)] == keys for n in range(len(parts)))


def _places(stores: Sequence[Store], scope: Scope) -> list[ast.expr]:
    """Return each place once, without those inside of another one."""
    known = {param_paths.PARAMS, *scope.loop_modules}
    if scope.run.classes is None:  # a loop in the arm has put its modules' params in their place
        stores = [x for x in stores if param_paths.of(x.place).owner in known]
    found = {param_paths.of(x.place): x.place for x in stores}
    return [x for p, x in found.items() if not any(p.is_in(o) for o in found if o != p)]


def _values(arm: Arm, places: Sequence[ast.expr], scope: Scope) -> list[ast.expr]:
    """Return the values of the places after an arm."""
    only = arm.stores[0] if len(arm.stores) == 1 else None
    at = next((n for n, s in enumerate(arm.body) if only and s is only.statement), None)
    if only is None or at is None or _is_read(only, arm.body[at + 1 :]):
        return [copy.deepcopy(x) for x in places]
    new = only.statement.value
    if isinstance(only.statement.targets[0], ast.Tuple):  # beside the result of a call
        new = syntax.name(scope.fresh(_label(only.place)))
        only.statement.targets[0].elts[-1] = ast.Name(new.id, ast.Store())
        on_statement(only.statement).update = None
    else:
        del arm.body[at]
    return [copy.deepcopy(new if syntax.same(x, only.place) else x) for x in places]


def _is_read(store: Store, later: Sequence[ast.stmt]) -> bool:
    """Return whether later statements read a new value in its place, or change what it is."""
    root, target = syntax.root(store.place), store.statement.targets[0]
    own = set() if isinstance(target, ast.Tuple) else set(syntax.names_in(store.statement.value))
    return any(root in syntax.names_in(s) or own & syntax.assigned(s) for s in later)


def emit(
    stores: Stores, call: ast.expr, names: Sequence[str], scope: Scope, node: ast.AST
) -> list[ast.expr]:
    """Emit `a, count = lax.cond(...)` and put the new values into the params; return the others."""
    if len(stores.places) == 1 and not names:
        state.store(stores.places[0], call, scope, node)
        return []
    labels = [scope.fresh(_label(x)) for x in stores.places]
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in (*names, *labels)]
    whole = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
    scope.emit(ast.Assign([whole], call))
    for place, label in zip(stores.places, labels, strict=True):
        state.store(place, syntax.name(label), scope, node)
    return [syntax.name(n) for n in names]


def _label(place: ast.expr) -> str:
    keys = [k for k in param_paths.of(place).path if isinstance(k, str) and k.isidentifier()]
    return keys[-1] if keys else "state"


@contextlib.contextmanager
def watched(scope: Scope, *, give_back: bool) -> Iterator[list[str]]:
    """Collect the names of the parameters and buffers that change in the block.

    Args:
        scope: The function.
        give_back: Whether they get the values back that they had, because torch does not run the
            block.
    """
    module = scope.run.module
    frozen = [(n, x) for n, x in module.named_parameters() if not x.requires_grad]
    own = [*module.named_buffers(), *frozen]
    before = [(name, x, x.detach().clone()) for name, x in own]
    changed: list[str] = []
    try:
        yield changed
    finally:
        for name, x, value in before:
            if not same(x, value):
                changed.append(name)
                if give_back:
                    x.data.copy_(value)
