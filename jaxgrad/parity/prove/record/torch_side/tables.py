"""The tables that a module holds in float32 or complex64, in buffers and plain attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.record.jax_side.port import is_rounded
from jaxgrad.parity.prove.record.torch_side.trees import is_inexact


def held(module: nn.Module, buffers: Sequence[str]) -> dict[str, np.ndarray]:
    """Return float32 numbers by name: some buffers, and tensors that are plain attributes."""
    named = dict([*module.named_parameters(), *module.named_buffers()])
    tables = {name: to_numpy(named[name]) for name in buffers}
    for path, part in module.named_modules():
        for key, x in vars(part).items():
            if isinstance(x, torch.Tensor) and is_inexact(x) and not x.requires_grad:
                tables[f"{path}.{key}" if path else key] = to_numpy(x.to(_wide(x.dtype)))
    return {name: x for name, x in tables.items() if is_rounded(x)}


def set_attributes(module: nn.Module, tables: Mapping[str, np.ndarray]) -> None:
    """Set plain attributes to tables, in the dtype in which the module runs."""
    dtype = next((x.dtype for x in module.parameters() if x.is_floating_point()), torch.float64)
    for name, numbers in tables.items():
        path, _, key = name.rpartition(".")
        own = dtype.to_complex() if np.iscomplexobj(numbers) else dtype
        setattr(module.get_submodule(path), key, torch.tensor(numbers).to(own))


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.complex128 if dtype.is_complex else torch.float64
