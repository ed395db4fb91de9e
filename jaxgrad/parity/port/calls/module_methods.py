"""Methods that every torch module has: its parameters, children and mode."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.expressions import attributes, submodules
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Fields,
    Folded,
    Items,
    Module,
    TensorMethod,
    Value,
)
from jaxgrad.parity.port.values.values import real_of


def of_base(
    owner: Module, name: str, args: list[Value], scope: Scope, node: ast.AST
) -> Value | None:
    """Return the value of `module.parameters()` and the like, or None for any other method."""
    module: nn.Module = owner.real
    if name == "flatten_parameters" and isinstance(module, nn.RNNBase):
        return Folded(None)  # a matter of where the weights are in memory
    if getattr(type(module), name, None) is not getattr(nn.Module, name, ()):
        return None
    if name in ("parameters", "named_parameters", "buffers", "named_buffers"):
        pairs = getattr(module, name if name.startswith("named_") else f"named_{name}")()
        values = [(path, _reach(owner, path, scope, node)) for path, _ in pairs]
        return _listed(name, values)
    if name == "state_dict" and not args and not _has_options(node):
        return _state_dict(owner, scope, node)
    if name == "load_state_dict" and len(args) == 1 and not _has_options(node):
        return _load(owner, args[0], scope, node)
    if name in ("children", "named_children"):
        owned = module.named_children()  # each child once
        return _listed(name, [(n, submodules.child(owner, n)) for n, _ in owned])
    if name in ("modules", "named_modules"):
        found = [
            (p, _reach(owner, p, scope, node) if p else owner) for p, _ in module.named_modules()
        ]
        return _listed(name, found)
    if name in ("to", "float", "double", "half") and _changes_nothing(module, name, args):
        return owner
    if name in ("train", "eval"):
        mode = name == "train" and bool(args[0].real if args else True)
        return _in_mode(owner, mode, name, scope, node)
    if name in ("requires_grad_", "to", "zero_grad", "half", "float", "double"):
        raise scope.refuse(f"`.{name}()` on a module while it runs; call it before porting", node)
    if name in ("get_parameter", "get_buffer", "get_submodule", "__getattr__"):
        path = real_of(args[0])
        return _reach(owner, path, scope, node) if path else owner
    return None


def _has_options(node: ast.AST) -> bool:
    return not isinstance(node, ast.Call) or bool(node.keywords)


def _state_dict(owner: Module, scope: Scope, node: ast.AST) -> Fields:
    """Return the tensors of a module by name; those with a gradient are detached."""
    fields: dict[Any, Value] = {}
    for path, tensor in owner.real.state_dict(keep_vars=True).items():
        if not isinstance(tensor, torch.Tensor):
            raise scope.refuse(
                f"state_dict() has {path!r}, which is not a tensor; read the tensors by name", node
            )
        value = _reach(owner, path, scope, node)
        if tensor.requires_grad:
            value = scope.run.call(TensorMethod("detach", None, value), [], {}, scope, node)
        fields[path] = value
    return Fields(dict, None, fields)


def _load(owner: Module, given: Value, scope: Scope, node: ast.AST) -> Value:
    """Copy the tensors of a dict into those of a module, one after the other."""
    names = list(owner.real.state_dict())
    if not isinstance(given, Fields) or list(given.fields) != names:
        raise scope.refuse("load_state_dict of other names; copy tensor by tensor", node)
    start = len(scope.body)
    with torch.no_grad(), scope.grad_mode(no_grad=True):
        for name in names:
            copy = TensorMethod("copy_", None, _reach(owner, name, scope, node))
            scope.run.call(copy, [given.at(name)], {}, scope, node)
    number = scope.run.new_unrolling()
    for statement in scope.body[start:]:
        on_statement(statement).unrolled = number
    return Folded(None)


def _in_mode(owner: Module, mode: bool, name: str, scope: Scope, node: ast.AST) -> Module:
    """Give a module and those inside of it a mode for the rest of the run."""
    for module in owner.real.modules():
        if scope.run.settings.carries_over(module, "training", mode):
            raise scope.refuse(
                f"`.{name}()` on a module after it has run; call it before porting", node
            )
        scope.run.settings.set(module, "training", mode)
    return owner


def _changes_nothing(module: nn.Module, name: str, args: list[Value]) -> bool:
    """Return whether each tensor of a module has the dtype that a method would give it."""
    dtypes = {"float": torch.float32, "double": torch.float64, "half": torch.float16}
    goals = [real_of(x) for x in args] if name == "to" else [dtypes[name]]
    held = {x.dtype for x in (*module.parameters(), *module.buffers()) if x.is_floating_point()}
    goals = [x for x in goals if not isinstance(x, str | torch.device)]  # JAX places arrays itself
    return all(isinstance(goal, torch.dtype) and held <= {goal} for goal in goals)


def _listed(name: str, values: Sequence[tuple[str, Value]]) -> Items:
    if name.startswith("named_"):
        return Items(
            list, None, [Items(tuple, None, [Folded(path), value]) for path, value in values]
        )
    return Items(list, None, [value for _, value in values])


def _reach(owner: Value, path: str, scope: Scope, node: ast.AST) -> Value:
    for part in path.split("."):
        owner = attributes.read(owner, part, scope, node)
    return owner
