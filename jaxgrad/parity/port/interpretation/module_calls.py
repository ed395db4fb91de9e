"""Interpret the call of a module: its own `__call__`, or its hooks and its `forward`."""

from __future__ import annotations

import ast
import inspect
import types

import torch
from torch import nn

from jaxgrad.parity.port.functions.functions import call_function
from jaxgrad.parity.port.modules import (
    attention_modules,
    module_hooks,
    recurrent_modules,
    whole_modules,
)
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Module, Value


def call(
    module: Module, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Return the value of the call of a module.

    Raises:
        PortError: The module is scripted, or cannot be written in JAX.
    """
    real: nn.Module = module.real
    if isinstance(real, torch.jit.ScriptModule):
        raise scope.refuse(
            f"{type(real).__name__} is scripted; port the module it was made of", node
        )
    own = own_call(real)
    if own is not None:
        return call_function(own, [module, *args], keywords, scope, node, type(real))
    return call_hooked(module, args, keywords, scope, node)


def own_call(module: nn.Module) -> types.FunctionType | None:
    """Return the `__call__` that a module's class defines itself, or None if torch's runs."""
    function = inspect.getattr_static(type(module), "__call__")
    is_own = isinstance(function, types.FunctionType) and not is_torch(function)
    return function if is_own else None


def call_hooked(
    module: Module, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Return the value of a module's hooks and its `forward`."""
    real: nn.Module = module.real
    if isinstance(real, nn.RNNBase) and recurrent_modules.is_scan(module, args, scope):
        return recurrent_modules.call(module, args, keywords, scope, node)
    forward = real.forward
    if not isinstance(forward, types.MethodType):
        raise scope.refuse(
            f"the forward of {type(real).__name__} is not a method; define it in the class", node
        )

    def called(inputs: list[Value]) -> Value:
        whole = whole_modules.call(module, inputs, keywords, scope, node)
        if whole := whole or attention_modules.call(module, inputs, keywords, scope):
            return whole
        return call_function(forward.__func__, [module, *inputs], keywords, scope, node, type(real))

    return module_hooks.call_hooked(module, args, called, scope, node)
