"""Containers that hold a tensor which changes in place: they hold its new value after it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from jaxgrad.parity.port.values import state
from jaxgrad.parity.port.values.binding import kept
from jaxgrad.parity.port.values.lengths import require_count
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Fields, Items, Object, Tensor, Value


def renew(changed: Tensor, scope: Scope) -> Value:
    """Give each container and attribute of a function the new value of a tensor that it holds.

    The container then holds its elements itself, apart from where they were read.

    Returns:
        The new value, under a name that stays if something holds it.
    """
    new: Value = changed

    def held(name: str, value: Value) -> bool:
        nonlocal new
        if not isinstance(value, Tensor) or value.real is not changed.real or value is changed:
            return False
        if state.is_leaf(changed.view):
            new = Tensor(changed.real, copy.deepcopy(changed.view))  # the params have it
            return True
        new = kept(name.strip("_"), changed, scope, lasting=True) if new is changed else new
        return True

    for name, value in list(scope.values.items()):
        for owner in _containers(value):
            for key, part in _parts(owner):
                if held(name, part):
                    _hold(owner, scope)
                    _put(owner, key, new)
    for attributes in scope.run.stored.values():
        for name, (value, where) in attributes.items():
            if where is scope and held(name, value):
                attributes[name] = new, where
    return new


def _containers(value: Value) -> Iterator[Items | Fields]:
    """Yield a list, tuple or dict, and those in it."""
    if isinstance(value, Items | Fields) and not isinstance(value, Object):
        yield value
        for _, part in _parts(value):
            yield from _containers(part)


def _parts(owner: Items | Fields) -> list[tuple[Any, Value]]:
    if isinstance(owner, Items):
        return list(enumerate(owner.items))
    return list(owner.fields.items())


def _hold(owner: Items | Fields, scope: Scope) -> None:
    if owner.code is None:
        return
    if isinstance(owner, Items):
        if owner.counted:
            node = scope.line or scope.source.node
            require_count(copy.deepcopy(owner.code), len(owner.items), scope, node)
        owner.hold([owner.reached(n) for n in range(len(owner.items))])
    else:
        owner.hold({key: owner.reached(key) for key in owner.fields})


def _put(owner: Items | Fields, key: Any, value: Value) -> None:
    if isinstance(owner, Items):
        owner.items[key] = value
    else:
        owner.fields[key] = value
