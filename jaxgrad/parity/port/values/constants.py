"""Write a tensor that the torch program did not compute as a literal."""

from __future__ import annotations

import ast
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Tensor, Value


def constant_tensor(tensor: torch.Tensor, name: str, scope: Scope) -> Value:
    if tensor.numel() <= syntax.LARGEST and not tensor.requires_grad:
        return Tensor(tensor, _literal(tensor))
    raise scope.refuse(
        f"the tensor {name!r} is neither an argument nor an attribute of a module; register it as "
        "a buffer of the module, and read it there"
    )


def _literal(tensor: torch.Tensor) -> ast.expr:
    nested = syntax.literal(tensor.tolist())
    if tensor.dtype == torch.bool and tensor.numel():
        return syntax.call_helper(Helper.ARRAY, nested)
    return syntax.call_helper(Helper.ARRAY, nested, dtype=syntax.literal(tensor.dtype))


def holds_parts(real: Any) -> bool:
    """Return whether a container holds a tensor or a module, or a list of one."""
    return isinstance(real, list | tuple) and any(
        isinstance(x, torch.Tensor | nn.Module) or holds_parts(x) for x in real
    )
