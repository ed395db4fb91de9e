"""Lists and dicts that a function gets from its caller, who sees what the function changes."""

from __future__ import annotations

import ast

from jaxgrad.parity.port.source.refusals import OutOfReach
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Fields, Items, Object, Value, is_dynamic


def note(value: Value, inner: Scope) -> None:
    """Note the containers in an argument of a function."""
    if isinstance(value, Object) or not isinstance(value, Items | Fields):
        return
    inner.borrowed.append(value)
    for part in value.items if isinstance(value, Items) else value.fields.values():
        note(part, inner)


def require_own(
    owner: Value, values: list[Value], scope: Scope, node: ast.AST, *, written: bool = True
) -> None:
    """Require that a container which gets values is one of the function that changes it.

    Args:
        owner: The container.
        values: What it gets.
        scope: The function.
        node: The statement.
        written: Whether the port changes its own container if that has a name there. It does so
            in a function whose result is used.

    Raises:
        OutOfReach: It is an argument; the function has to be interpreted where it is called.
        PortError: The port has classes, whose methods are not interpreted elsewhere.
    """
    if not any(x is owner for x in scope.borrowed) or scope is scope.run.scopes[1]:
        return
    is_named = owner.code is not None
    if (is_named and written and _returns(scope)) or not (is_named or any(map(is_dynamic, values))):
        return
    reason = "an argument is changed in a function, and read by its caller; return it instead"
    if scope.run.classes is not None or scope.code is None:
        raise scope.refuse(reason, node)
    raise OutOfReach(reason, scope.place(node), scope.code)


def _returns(scope: Scope) -> bool:
    """Return whether a function returns a value, so that the port has its call."""
    return any(
        isinstance(x, ast.Return) and x.value is not None for x in ast.walk(scope.source.node)
    )
