"""Run a torch module in float64 and remember every value on its way, and every cotangent back."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from jaxgrad.parity.interop import to_numpy, to_torch
from jaxgrad.parity.prove.jax_side.program import call_loss
from jaxgrad.parity.prove.torch_side.lifting import Lifting
from jaxgrad.parity.prove.torch_side.trees import each, flat_outputs, moves
from jaxgrad.parity.prove.torch_side.values import TorchRun
from jaxgrad.parity.prove.torch_side.watcher import Watcher


Pick = Callable[[Any], Any]


def twin(module: nn.Module, dtype: torch.dtype = torch.float64) -> nn.Module:
    """A copy of the module in this dtype, on the CPU; complex numbers stay complex."""
    made = copy.deepcopy(module).to("cpu")
    for x in (*made.parameters(), *made.buffers()):
        if moves(x):
            x.data = x.data.to(dtype.to_complex() if x.is_complex() else dtype)
    return made


def run(
    module: nn.Module,
    inputs: Any,
    pick: Pick | None = None,
    loss: Callable[..., Any] | None = None,
    cotangents: Callable[[str, np.ndarray], np.ndarray] | None = None,
    *,
    watch: bool = True,
    keep: bool = False,
    parts_of: int | None = None,
    salt: int = 0,
    rough: int | None = None,
    dtype: torch.dtype = torch.float64,
    fresh: bool = True,
) -> TorchRun:
    """Run `module` (already a copy in `dtype`) forward and back.

    Args:
      module: The module; its buffers may move.
      inputs: A tuple of numpy arrays for positional arguments, or a mapping for named ones.
      pick: What of the module's result is compared.
      loss: Of the picked outputs, a scalar; else each floating output gets a cotangent.
      cotangents: (path, output) -> cotangent; None for a forward run alone.
      watch: Whether to record the values inside.
      keep: Whether to hold the values, not only their fingerprints.
      parts_of: A value whose cotangent is wanted separately for each call that reads it.
      salt: Seeds torch's own generator.
      rough: Seeds noise of float32's size in the constants that the module holds in float32.
      dtype: Of the run; float64 lifts the casts that the module itself makes.
      fresh: Whether the gradients of an earlier run are forgotten.
    """
    args = to_torch(inputs)
    leaves = [x for x in each(args) if isinstance(x, Tensor)]
    for x in leaves:
        if x.is_floating_point() or x.is_complex():
            x.requires_grad_(True)
    if fresh:
        module.zero_grad()
    watcher = Watcher(module, leaves, keep, parts_of) if watch else None
    with (
        _settings(dtype, salt),
        Lifting(watcher, dtype, rough) as lifting,
        watcher or contextlib.nullcontext(),
    ):
        result = module(**args) if isinstance(args, Mapping) else module(*args)
        result = result if pick is None else pick(result)
        picked = dict(flat_outputs(result))
        total = None
        if loss is not None:
            if watcher:
                watcher.begin("loss")
            total = call_loss(loss, result, args)
            if not isinstance(total, Tensor) or total.numel() != 1:
                raise TypeError(f"the torch loss gave {describe(total)}; it must give one number")
            picked["loss"] = total
        if watcher:
            watcher.on = False
        if loss is None and cotangents is not None:
            live = {k: x for k, x in picked.items() if moves(x) and x.requires_grad}
            parts = [
                (x * torch.as_tensor(cotangents(k, to_numpy(x))).to(x.dtype)).sum()
                for k, x in live.items()
            ]
            parts = [torch.real(p) if p.is_complex() else p for p in parts]
            total = torch.stack(parts).sum() if parts else None
        if total is not None and total.requires_grad and (loss is None or cotangents is not None):
            total.sum().backward()
    names: dict[str, np.ndarray | None] = {
        name: to_numpy(p.grad) if p.grad is not None else None
        for name, p in module.named_parameters()
    }
    made = watcher.finish() if watcher else []
    return TorchRun(
        values=made,
        calls=watcher.calls if watcher else [],
        outputs={k: to_numpy(x) for k, x in picked.items()},
        output_values=[watcher.index.get(id(x)) if watcher else None for x in picked.values()],
        grads=names,
        input_grads=[to_numpy(x.grad) if x.grad is not None else None for x in leaves],
        buffers={name: to_numpy(b) for name, b in module.named_buffers()},
        loss=float(total.detach()) if total is not None else None,
        pins=lifting.pins,
        numbers=sorted(lifting.numbers),
        parts={k: to_numpy(g) for k, g in watcher.parts.items()} if watcher else {},
    )


def describe(x: Any) -> str:
    shape = getattr(x, "shape", None)
    return f"{type(x).__name__} of shape {tuple(shape)}" if shape is not None else repr(x)


@contextlib.contextmanager
def _settings(dtype: torch.dtype, salt: int) -> Iterator[None]:
    before = torch.get_default_dtype(), torch.backends.mha.get_fastpath_enabled()
    torch.set_default_dtype(dtype)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(salt)
            yield
    finally:
        torch.set_default_dtype(before[0])
        torch.backends.mha.set_fastpath_enabled(before[1])
