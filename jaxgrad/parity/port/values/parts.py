"""How the parts of a torch module are reached from it: by attribute, by number or by key."""

from __future__ import annotations

import ast

from torch import nn

from jaxgrad.parity.port.ir import How, Part
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.values.value_types import Module


def reached(
    parent: Module, name: str, code: ast.expr, siblings: frozenset[str] | None = None
) -> ast.expr:
    """Annotate the expression of a part of a module, which a flax class reaches in its own way."""
    keyed = isinstance(parent.real, nn.ModuleDict | nn.ParameterDict)
    how = How.ITEM if is_list(parent.real) else How.KEY if keyed else How.ATTRIBUTE
    on_expression(code).part = Part(parent.path, name, how, siblings)
    return code


def is_list(module: nn.Module) -> bool:
    """Return whether a module is a list of its parts, which have numbers."""
    if isinstance(module, nn.ParameterList):
        return True
    return type(module) in (nn.ModuleList, nn.Sequential) and is_numbered(module)


def is_numbered(module: nn.Module) -> bool:
    """Return whether a module's children are called 0, 1, 2, so that their params are a list."""
    names = list(module._modules)
    return (
        bool(names)
        and names == [str(n) for n in range(len(names))]
        and not (module._parameters or module._buffers)
    )
