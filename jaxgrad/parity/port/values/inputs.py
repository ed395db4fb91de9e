"""The example inputs of a port, as tensors of the run and as values of its entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad.parity.interop import map_leaves
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.binding import bind
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Fields, Folded, Items, Tensor, Value


def input_value(name: str, value: Any, scope: Scope) -> Value:
    """Return an argument of the entry as a value with its name."""
    if value is None:
        return Folded(None)
    if isinstance(value, torch.Tensor):
        return Tensor(value, syntax.name(name))
    if isinstance(value, Mapping):
        fields = {k: input_value(k, x, scope) for k, x in value.items()}
        return Fields(dict, syntax.name(name), fields)
    if isinstance(value, list | tuple):
        items = [input_value(name, x, scope) for x in value]
        return Items(type(value), syntax.name(name), items)
    return bind(name, Value(value), scope)


def tensors(inputs: Any, module: nn.Module) -> Any:
    """Return inputs as tensors of their own; floating ones in the dtype of the module."""
    dtypes = [p.dtype for p in module.parameters() if p.is_floating_point()]
    dtype = dtypes[0] if dtypes else torch.get_default_dtype()

    def one(x: Any) -> torch.Tensor | None:
        if x is None:
            return None
        array = np.asarray(copy_to_numpy(x))
        if array.dtype.kind not in "biufcV":
            raise PortError(
                f"inputs= needs arrays, got {type(x).__name__}; leave this argument out, and pass "
                "those after it by name"
            )
        tensor = torch.tensor(array)
        return tensor.to(dtype) if tensor.is_floating_point() else tensor

    return map_leaves(one, inputs)


def attached(example: Any) -> Any:
    """Return inputs that take part in torch's graph, as the outputs of an encoder do."""

    def one(x: torch.Tensor | None) -> torch.Tensor | None:
        if x is None:
            return None
        return x.requires_grad_().clone() if x.is_floating_point() or x.is_complex() else x

    return map_leaves(one, example)
