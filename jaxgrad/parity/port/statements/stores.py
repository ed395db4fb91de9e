"""Interpret assignments to attributes and to elements."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from jaxgrad.parity.port.calls import arrays, inplace, memory
from jaxgrad.parity.port.expressions import attributes, indexing
from jaxgrad.parity.port.expressions.positions import axis_of
from jaxgrad.parity.port.functions import autograd_functions, borrowed, made_objects, objects
from jaxgrad.parity.port.source.written import Assumption
from jaxgrad.parity.port.values import state
from jaxgrad.parity.port.values.binding import kept, stop_all
from jaxgrad.parity.port.values.lengths import pinned
from jaxgrad.parity.port.values.scope import CallSite, Scope, Special
from jaxgrad.parity.port.values.settings import is_same
from jaxgrad.parity.port.values.value_types import (
    Fields,
    Folded,
    Items,
    Module,
    Object,
    Size,
    Tensor,
    Value,
)
from jaxgrad.parity.port.values.values import code_of, real_of, tensors_in


def set_attribute(owner: Value, name: str, value: Value, scope: Scope, node: ast.AST) -> None:
    """Interpret `owner.name = value`.

    Raises:
        PortError: The port has no place for the value.
    """
    if isinstance(owner, autograd_functions.Context):
        autograd_functions.store(owner, name, value, scope)
    elif isinstance(owner, Object):
        objects.store(owner, name, value, scope, node)
    elif isinstance(owner, Module) and isinstance(value, Folded | Size):
        _set_on_module(owner, name, value, scope, node)
    elif isinstance(owner, Tensor) and _changes_nothing(owner, name, value):
        return
    elif (
        isinstance(owner, Tensor)
        and isinstance(value, Tensor)
        and _sets_data(owner, name, value, scope)
    ):
        memory.require_no_parameter(owner.real, scope, node)
        owner.real.data.copy_(value.real)
        inplace.write(owner, code_of(stop_all(value)), owner.real, scope, node)
    elif isinstance(owner, Tensor):
        memory.require_no_parameter(owner.real, scope, node)
        raise scope.refuse(f"`{name}` of a tensor is set; give the name another tensor", node)
    elif isinstance(owner, Module) and getattr(owner.real, name, None) is value.real:
        return  # it is set to what it is
    elif isinstance(owner, Module) and isinstance(value, Tensor) and name in _buffers(owner):
        _set_buffer(owner, name, value, scope, node)
    elif isinstance(owner, Module) and isinstance(value, Module):
        raise scope.refuse(
            f"the module `{name}` is replaced while the module runs"
            "; choose between two submodules with an `if`",
            node,
        )
    elif isinstance(owner, Folded) and made_objects.is_made(owner.real, scope.run):
        made_objects.store(owner, name, stop_all(value) if scope.no_grad else value, scope)
    elif _is_kept_by_torch(owner):
        _store_for_run(owner, name, value, scope, node)
    elif isinstance(owner, Fields) and (
        name in owner.fields or name in getattr(owner.real, "__dataclass_fields__", ())
    ):
        _set_field(owner, name, stop_all(value) if scope.no_grad else value, scope)
    else:
        raise scope.refuse(
            f"`{name}` is set while the module runs; return it instead of storing it", node
        )


def _buffers(owner: Module) -> Mapping[str, torch.Tensor]:
    """Return the buffers of a module itself, without those that are None."""
    return dict(owner.real.named_buffers(recurse=False))


def _set_buffer(owner: Module, name: str, value: Tensor, scope: Scope, node: ast.AST) -> None:
    """Give a buffer a new value, as a change in place does.

    Raises:
        PortError: The new value has another shape or dtype, with which the next call would begin.
    """
    old, new = _buffers(owner)[name], value.real
    if (old.shape, old.dtype) != (new.shape, new.dtype):
        raise scope.refuse(
            f"the buffer `{name}` is {old.dtype}{list(old.shape)} and is set to "
            f"{new.dtype}{list(new.shape)}; give it one shape and dtype",
            node,
        )
    target = attributes.read(owner, name, scope, node)
    assert isinstance(target, Tensor)
    old.copy_(new)
    inplace.write(target, code_of(value), old, scope, node)


def _changes_nothing(owner: Tensor, name: str, value: Value) -> bool:
    """Return whether a tensor gets its own data again, or takes part in torch's graph."""
    if name == "requires_grad":
        return value.real is True or not owner.real.requires_grad
    real = value.real
    if name != "data" or not isinstance(real, torch.Tensor) or real.dtype != owner.real.dtype:
        return False
    return real.data_ptr() == owner.real.data_ptr() and real.shape == owner.real.shape


def _sets_data(owner: Tensor, name: str, value: Tensor, scope: Scope) -> bool:
    """Return whether `p.data = value` gives a tensor of a module the numbers of a new array.

    With the memory of another tensor, both would change from then on.
    """
    if name != "data" or not (state.is_leaf(owner.code) or state.is_leaf(owner.view)):
        return False
    module, variables = scope.run.module, scope.values.values()
    others = [*module.parameters(), *module.buffers(), *(x.real for x in _tensors_of(variables))]
    same = (owner.real.shape, owner.real.dtype) == (value.real.shape, value.real.dtype)
    return same and not any(memory.shares(value.real, x) for x in others)


def _tensors_of(values: Iterable[Value]) -> list[Tensor]:
    return [x for value in values for x in tensors_in(value)]


def _set_on_module(
    owner: Module, name: str, value: Folded | Size, scope: Scope, node: ast.AST
) -> None:
    """Set a number of a module for the rest of the run."""
    if scope.run.settings.carries_over(owner.real, name, value.real):
        raise scope.refuse(
            f"`{name}` is read and then set on a module while it runs, so the next call depends on "
            "this one; take it as an argument and return it",
            node,
        )
    number = pinned(value, scope, node)
    _note_change(owner, name, number, scope, node)
    scope.run.settings.set(owner.real, name, number)


def _is_number(value: Value) -> bool:
    return isinstance(value, Folded | Size) and isinstance(value.real, int | float | str)


def _note_change(owner: Value, name: str, new: Any, scope: Scope, node: ast.AST) -> None:
    """Record that an attribute changes, which the port leaves out unless something reads it."""
    if not is_same(getattr(owner.real, name, None), new):
        stored = f"`{name}` of {type(owner.real).__name__}"
        scope.run.unread[id(owner.real), name] = Assumption(scope.place(node), stored)


def _is_kept_by_torch(owner: Value) -> bool:
    """Return whether a value is an object that exists before the run, such as a module."""
    simple = isinstance(owner.real, type | torch.Tensor | types.ModuleType)
    return isinstance(owner, Module | Folded) and hasattr(owner.real, "__dict__") and not simple


def _store_for_run(owner: Value, name: str, value: Value, scope: Scope, node: ast.AST) -> None:
    """Set what the program reads again in the same run, such as a normed weight of a layer.

    What it does not read again, such as attention weights for a picture, is left out.

    Raises:
        PortError: The value is still there in the next call, or is a parameter or a buffer.
    """
    run = scope.run
    registered = {**vars(owner.real).get("_parameters", {}), **vars(owner.real).get("_buffers", {})}
    if name in registered:
        raise scope.refuse(
            f"`{name}` is set while the module runs; return it instead of storing it", node
        )
    if run.settings.was_read(owner.real, name) and name not in run.stored.get(id(owner.real), {}):
        raise scope.refuse(
            f"`{name}` is read and then set while the module runs, so the next call depends on "
            "this one; take it as an argument and return it",
            node,
        )
    if name not in run.stored.get(id(owner.real), {}) and (tensors_in(value) or _is_number(value)):
        _note_change(owner, name, value.real, scope, node)
    run.settings.set(owner.real, name, None)
    made_objects.store(owner, name, stop_all(value) if scope.no_grad else value, scope)


def _set_field(owner: Fields, key: Any, value: Value, scope: Scope) -> None:
    """Replace a value of a dict or record, whose other values are still read from where it is."""
    _hold_fields(owner)
    owner.fields[key] = kept(str(key), value, scope, lasting=True)


def _hold_items(owner: Items, scope: Scope, node: ast.AST) -> None:
    """Copy a list's values, so that later changes of where they were read do not affect it."""
    owner.hold(indexing.iterate(owner, scope, node))


def _hold_fields(owner: Fields) -> None:
    """Copy the values of a dict or record, so that later changes of their source leave them."""
    owner.hold({key: owner.at(key) for key in owner.fields})


def set_item(owner: Value, key: Value, value: Value, scope: Scope, node: ast.AST) -> None:
    """Interpret `owner[key] = value`.

    Raises:
        PortError: The owner is neither a tensor nor a list or dict of the run.
    """
    if isinstance(owner, Tensor):
        inplace.set_item(owner, key, value, scope, node)
        return
    axis_of(owner, key, scope, node)
    if isinstance(owner, Size) and isinstance(value, Size | Folded):
        owner.real[real_of(key)] = value.real  # an array of numpy
        scope.emit(ast.Assign([_place(owner, key)], arrays.in_numpy(code_of(value))))
        return
    position = pinned(key, scope, node)
    borrowed.require_own(owner, [value], scope, node, written=False)
    if scope.no_grad:
        value = stop_all(value)
    if isinstance(owner, Items):
        _hold_items(owner, scope, node)
        if isinstance(position, slice):
            new = indexing.iterate(value, scope, node)
            owner.items[position] = [kept("item", x, scope, lasting=True) for x in new]
            return
        owner.items[position] = kept(str(position), value, scope, lasting=True)
    elif isinstance(owner, Fields) and not isinstance(owner, Object):
        _set_field(owner, position, value, scope)
    elif isinstance(owner, Folded) and isinstance(value, Folded):
        owner.real[position] = value.real
    else:
        raise scope.refuse(
            "an element of this object is set while the module runs; build a new object", node
        )
    if owner.code is not None:
        scope.emit(ast.Assign([_place(owner, key)], code_of(value)))


def _place(owner: Value, key: Value) -> ast.Subscript:
    return ast.Subscript(code_of(owner), code_of(key), ast.Store())


def delete_item(owner: Value, key: Value, scope: Scope, node: ast.AST) -> None:
    """Interpret `del owner[key]`.

    Raises:
        PortError: The owner is neither a list nor a dict of the run.
    """
    position = pinned(key, scope, node)
    borrowed.require_own(owner, [], scope, node, written=False)
    if isinstance(owner, Items):
        _hold_items(owner, scope, node)
        del owner.items[position]
    elif isinstance(owner, Fields) and not isinstance(owner, Object):
        _hold_fields(owner)
        del owner.fields[position]
    elif isinstance(owner, Folded):
        del owner.real[position]
    else:
        raise scope.refuse(
            "an element of this object is deleted while the module runs; build a new object", node
        )


def delete_attribute(owner: Value, name: str, scope: Scope, node: ast.AST) -> None:
    """Interpret `del owner.name`.

    Raises:
        PortError: The attribute is older than this run, or the owner is an argument.
    """
    run, own = scope.run, scope.run.stored.get(id(owner.real), {})
    if isinstance(owner, Object) and name in owner.fields and not owner.passed:
        del owner.fields[name]
    elif name in own or run.settings.was_set(owner.real, name):
        own.pop(name, None)
        run.unread.pop((id(owner.real), name), None)
        delattr(owner.real, name)
    else:
        raise scope.refuse(
            f"`{name}` is deleted, and this run has not set it where it is deleted; leave it", node
        )


def _setattr(site: CallSite) -> Value:
    owner, name, value = site.args
    set_attribute(owner, pinned(name, site.scope, site.node), value, site.scope, site.node)
    return Folded(None)


SPECIAL: dict[Any, Special] = {setattr: _setattr}
