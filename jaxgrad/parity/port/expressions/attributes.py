"""Read an attribute, an element or every element of a value."""

from __future__ import annotations

import ast
import collections
import inspect
import types
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.expressions.submodules import child, module_value
from jaxgrad.parity.port.functions import autograd_functions, made_objects, objects
from jaxgrad.parity.port.ir import NameOf
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.values.constants import constant_tensor, holds_parts
from jaxgrad.parity.port.values.lengths import is_counted
from jaxgrad.parity.port.values.parts import reached
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Fields,
    Folded,
    Items,
    Method,
    Module,
    Object,
    Parent,
    Size,
    Tensor,
    TensorMethod,
    Value,
)
from jaxgrad.parity.port.values.values import code_of, folded, lift, real_of


def read(value: Value, name: str, scope: Scope, node: ast.AST) -> Value:
    """Return the value of `value.name`."""
    if isinstance(value, Module):
        return _of_module(value, name, scope, node)
    if isinstance(value, Tensor):
        return _of_tensor(value, name, scope, node)
    if isinstance(value, Object):
        found = objects.read(value, name, scope, node)
        of_class = isinstance(found, Folded) and holds_parts([found.real])
        return constant_value(found.real, name, scope) if of_class else found
    if isinstance(value, Items | Fields):
        return _of_container(value, name, scope)
    if isinstance(value, autograd_functions.Context):
        return autograd_functions.read(value, name, scope, node)
    if isinstance(value, Parent):
        return _of_parent(value, name, scope, node)
    if isinstance(value, Size) and (name in _OF_NUMBERS or hasattr(value.real, "dtype")):
        return _of_sized(value, name)
    if isinstance(value, Size):
        raise scope.refuse(
            f"`.{name}` of a number that depends on shapes; use the number itself", node
        )
    if isinstance(value, Method) and name == "__func__":
        return Folded(value.real)
    stored = made_objects.read(value, name, scope, node) if isinstance(value, Folded) else None
    if stored is not None:
        return stored
    if isinstance(value, Folded):
        _note_read(value.real, name, scope)
    found = getattr(value.real, name)
    if isinstance(found, types.MethodType) and isinstance(value.real, _FUNCTION):
        return Folded(found)
    if isinstance(found, types.MethodType) and isinstance(value, Folded):
        return Method(found.__func__, None, value)
    if isinstance(value.real, torch.dtype):
        return Folded(found)
    if value.code is not None and isinstance(found, int | float):
        return Size(found, syntax.attribute(code_of(value), name))
    return constant_value(found, name, scope, name_of=_name_of(value.real, scope))


def _of_sized(value: Size, name: str) -> Value:
    """Return an attribute of a number or an array of numpy that is computed from sizes."""
    found, code = getattr(value.real, name), syntax.attribute(code_of(value), name)
    if callable(found):
        return Method(name, None, value)
    if isinstance(found, tuple):
        sizes: list[Value] = [Size(x, syntax.item(code, n)) for n, x in enumerate(found)]
        return Items(tuple, code, sizes)
    return Size(found, code)


_FUNCTION = type(torch.autograd.Function)
_OF_NUMBERS = ("is_integer", "bit_length")


def constant_value(
    real: Any,
    name: str,
    scope: Scope,
    owner: Module | None = None,
    name_of: NameOf | None = None,
) -> Value:
    """Return the value of something that the torch program did not compute in this run.

    Args:
        real: What it is in the run.
        name: Its name, for the port.
        scope: The function that reads it.
        owner: The module whose attribute it is, if it is one.
        name_of: What the name refers to, if the port may write it in place of a number.
    """
    if isinstance(real, torch.Tensor):
        found = None if owner is None else _registered(owner, real, scope)
        return constant_tensor(real, name, scope) if found is None else found
    if isinstance(real, nn.Module):
        return module_value(real, scope, owner)
    if holds_parts(real):
        kind = type(real) if hasattr(real, "_fields") else list if isinstance(real, list) else tuple
        items = [constant_value(x, f"{name}_{n}", scope, owner) for n, x in enumerate(real)]
        return Items(kind, None, items)
    if isinstance(real, Mapping) and holds_parts(tuple(real.values())):
        fields = {k: constant_value(x, f"{name}_{k}", scope, owner) for k, x in real.items()}
        is_own = isinstance(real, dict) and not isinstance(real, _PLAIN)
        return Fields(type(real) if is_own else dict, None, fields)
    return folded(real, name, name_of)


def _registered(owner: Module, real: torch.Tensor, scope: Scope) -> Value | None:
    """Return a parameter or buffer of a module that its code reaches through a list or a dict."""
    named = (*owner.real.named_parameters(), *owner.real.named_buffers())
    path = next((path for path, x in named if x is real), None)
    if path is None:
        return None
    value: Value = owner
    for name in path.split("."):
        value = read(value, name, scope, scope.source.node)
    return value


_PLAIN = (collections.OrderedDict, collections.defaultdict)  # their attributes are no elements


def _of_module(value: Module, name: str, scope: Scope, node: ast.AST) -> Value:
    module: nn.Module = value.real
    kind = type(module)
    if name == "training":
        scope.run.settings.read(module, name)
        return Folded(module.training)
    stored = made_objects.read(value, name, scope, node)
    if stored is not None:
        return stored
    if name in module._parameters or name in module._buffers:
        tensor = getattr(module, name)
        return Folded(None) if tensor is None else _own(value, name, tensor, scope)
    if name in module._modules:
        found = module._modules[name]
        return Folded(None) if found is None else child(value, name)
    static = inspect.getattr_static(kind, name, None)
    if isinstance(static, property):
        if name in getattr(module, "parametrizations", ()) and _is_layer(value, scope):
            return _computed(value, name, scope)
        if static.fget is None:
            raise scope.refuse(
                f"the property {name!r} cannot be read; compute its value in a method", node
            )
        return scope.run.call(Method(static.fget, None, value), [], {}, scope, node)
    found = getattr(module, name)
    if isinstance(found, types.MethodType) and found.__self__ is module:
        return Method(found.__func__, None, value)
    _note_read(module, name, scope)
    if isinstance(found, torch.Tensor):
        return _own(value, name, found, scope)
    is_set = scope.run.settings.was_set(module, name)  # by the forward pass itself
    name_of = None if is_set else _name_of(module, scope)
    return constant_value(found, name, scope, value, name_of)


def _is_layer(value: Module, scope: Scope) -> bool:
    classes = scope.run.classes
    return classes is not None and value.path != "" and classes.is_layer(value.real)


def _computed(value: Module, name: str, scope: Scope) -> Tensor:
    """Return the parameter that a layer of `jaxgrad.nnx` computes at each use, as torch's does."""
    module: nn.Module = value.real
    scope.run.used.update(f"{value.path}.{path}" for path, _ in module.named_parameters())
    return Tensor(getattr(module, name), syntax.attribute(code_of(value), name))


def _note_read(owner: Any, name: str, scope: Scope) -> None:
    """Note that an attribute is read, so that a number which this run has set is not left out."""
    scope.run.settings.read(owner, name)
    scope.run.unread.pop((id(owner), name), None)


def _name_of(owner: Any, scope: Scope) -> NameOf | None:
    """Return ATTRIBUTE if the user's program reads an attribute of an object of its own."""
    is_own = not (is_torch(type(owner)) or is_torch(scope.source.function))
    return NameOf.ATTRIBUTE if is_own and not isinstance(owner, types.ModuleType | type) else None


def _of_parent(value: Parent, name: str, scope: Scope, node: ast.AST) -> Value:
    """Return a method that `super()` finds, bound to the module or object."""
    if isinstance(value.owner, Folded):
        return folded(getattr(super(value.real, value.owner.real), name))
    is_object = isinstance(value.owner, Object)
    if is_object and name == "__init__" and getattr(value.real, "__mro__", ())[1:2] == (nn.Module,):
        return Folded(_nothing)
    order = (value.owner.real if is_object else type(value.owner.real)).__mro__
    for kind in order[order.index(value.real) + 1 :]:
        if isinstance(found := vars(kind).get(name), types.FunctionType):
            return Method(found, None, value.owner, kind)
    if is_object and name == "__init__":
        return Folded(_nothing)
    raise scope.refuse(
        f"super() has no method {name!r}; call a method that a base class defines", node
    )


def _nothing(*_: Any, **__: Any) -> None: ...


def _own(value: Module, name: str, tensor: torch.Tensor, scope: Scope) -> Tensor:
    """Return a parameter, buffer or tensor attribute of a module."""
    path = f"{value.path}.{name}" if value.path else name
    scope.run.used.add(path)
    if name not in value.real._parameters and name not in value.real._buffers:
        scope.run.constants[path] = tensor
    tensors = {k: x for k, x in vars(value.real).items() if isinstance(x, torch.Tensor)}
    own = {**tensors, **value.real._parameters, **value.real._buffers, **value.real._modules}
    siblings = frozenset(k for k, x in own.items() if x is not None)
    code = reached(value, name, syntax.item(code_of(value), name), siblings)
    return Tensor(tensor, code)


def _of_tensor(value: Tensor, name: str, scope: Scope, node: ast.AST) -> Value:
    tensor: torch.Tensor = value.real
    if name == "shape":
        return lift(tensor.shape, syntax.shape(code_of(value)))
    if name == "ndim":
        if is_torch(scope.source.function) or not is_counted(value, scope):
            return Folded(tensor.ndim)
        return Size(tensor.ndim, syntax.ndim(code_of(value)), of_ranks=True)
    if name == "dtype":
        return Folded(tensor.dtype, syntax.dtype_of(code_of(value)))
    if name == "data" and not tensor.requires_grad:
        return value  # such as a buffer, which may be changed in place through its data
    if name == "data":
        return scope.run.call(TensorMethod("detach", None, value), [], {}, scope, node)
    if name in ("T", "mT", "H", "mH", "real", "imag"):
        return scope.run.call(TensorMethod(name, None, value), [], {}, scope, node)
    if name == "grad" and tensor.is_leaf and not tensor.requires_grad and tensor.grad is None:
        return Folded(None)
    if name == "grad":
        raise scope.refuse("`.grad` inside of a module; return the gradient from jax.grad", node)
    found = getattr(tensor, name)
    if callable(found):
        return TensorMethod(name, None, value)
    if isinstance(found, torch.Tensor):
        raise scope.refuse(
            f"the tensor attribute {name!r} is not ported; compute it with a function of torch",
            node,
        )
    return Folded(found)


def _of_container(value: Items | Fields, name: str, scope: Scope) -> Value:
    if isinstance(value, Fields):
        if value.real is not dict and name in value.fields:
            return value.at(name)
        if value.real is not dict and hasattr(value.real, name):
            found = getattr(real_of(value), name)
            return (
                Method(found, None, value)
                if callable(found)
                else constant_value(found, name, scope)
            )
    names = getattr(value.real, "_fields", ())
    if isinstance(value, Items) and name in names:
        return value.at(names.index(name))
    return Method(name, None, value)
