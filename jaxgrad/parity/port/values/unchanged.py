"""Refuse a branch if an arm changes a tensor, a list, a dict or an attribute in place."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from typing import Any

from jaxgrad.parity.port.values.scope import Run, Scope
from jaxgrad.parity.port.values.value_types import Fields, Items, Value
from jaxgrad.parity.port.values.values import tensors_in


@contextlib.contextmanager
def unchanged(scope: Scope, node: ast.AST) -> Iterator[None]:
    """Raise PortError if the values of the variables are changed in place in this block."""
    held = [t.real for v in scope.values.values() for t in tensors_in(v)]
    versions = [x._version for x in held]
    containers = [(c, _contents(c)) for v in scope.values.values() for c in _containers(v)]
    attributes = _attributes(scope.run)
    yield
    if [x._version for x in held] != versions:
        raise scope.refuse(
            "a tensor is changed in place in one arm of a branch on the value of a tensor; assign "
            "a new one",
            node,
        )
    if _attributes(scope.run) != attributes:
        raise scope.refuse(
            "an attribute is set in one arm of a branch on the value of a tensor; let both arms "
            "assign a variable, and set the attribute after the branch",
            node,
        )
    if any(_contents(c) != contents for c, contents in containers):
        raise scope.refuse(
            "a list or dict is changed in one arm of a branch on the value of a tensor; its length "
            "would depend on the value",
            node,
        )


def _attributes(run: Run) -> list[Any]:
    """Return the attributes of modules and other objects that torch's program has set so far.

    Values are compared by identity.
    """
    stored = [(o, n, id(v)) for o, own in run.stored.items() for n, (v, _) in own.items()]
    return [len(run.settings.ever), stored]


def _containers(value: Value) -> list[Items | Fields]:
    """Return the lists and dicts in a value, and the value itself if it is one."""
    parts = value.items if isinstance(value, Items) else []
    parts = list(value.fields.values()) if isinstance(value, Fields) else parts
    own = [value] if isinstance(value, Items | Fields) else []
    return [*own, *(c for part in parts for c in _containers(part))]


def _contents(container: Items | Fields) -> list[tuple[Any, Value]]:
    """Return the values of a list or dict, each with its position or key.

    Values are compared by identity.
    """
    is_list = isinstance(container, Items)
    return list(enumerate(container.items) if is_list else container.fields.items())
