"""Submodules: the port reaches each by its own name in its parent."""

from __future__ import annotations

from torch import nn

from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.refusals import OutOfReach
from jaxgrad.parity.port.values.parts import is_numbered, reached
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Module, Value
from jaxgrad.parity.port.values.values import code_of


def module_value(module: nn.Module, scope: Scope, owner: Module | None = None) -> Value:
    """Return a module that is not read by its own name in its parent, as in `self.layers[0]`."""
    path = scope.run.paths.get(id(module))
    if path is None:
        if next(module.parameters(), None) is None and next(module.buffers(), None) is None:
            return Module(module, param_paths.params())
        raise scope.refuse(
            f"{type(module).__name__} is not a submodule of the module that is ported"
            "; assign it to an attribute of that module, before porting"
        )
    if owner is None and isinstance(scope.module, Module):
        owner = scope.module
    prefix = f"{owner.path}." if owner is not None and owner.path else ""
    inside = path.removeprefix(prefix) if path.startswith(prefix) else _path_inside(owner, module)
    if owner is None or inside is None:
        reason = (
            f"the module {path!r} is reached otherwise than as an attribute of its parent; call "
            "it in a method of its parent"
        )
        if scope.code is not None and scope.module is None:
            raise OutOfReach(reason, scope.place(), scope.code)
        raise scope.refuse(reason)
    for name in inside.split("."):
        owner = child(owner, name)
    return owner


def _path_inside(owner: Module | None, module: nn.Module) -> str | None:
    """Return a path of a module that has several, such as one ReLU for all layers."""
    if owner is None:
        return None
    found = owner.real.named_modules(remove_duplicate=False)
    return next((path for path, inside in found if inside is module and path), None)


def child(value: Module, name: str) -> Module:
    """Return a submodule; those of a list are indexed by their number."""
    found = value.real._modules[name]
    numbered = is_numbered(value.real)
    code = reached(value, name, syntax.item(code_of(value), int(name) if numbered else name))
    return Module(found, code, f"{value.path}.{name}" if value.path else name)
