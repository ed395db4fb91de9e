"""Ask torch in which modes a port has to be proved, and which buffers a module changes.

The port may have merged both modes wrongly, so neither question is answered from the port.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils import _pytree as pytree

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.modes.modes import in_mode
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.equal import same
from jaxgrad.parity.port.values.inputs import tensors
from jaxgrad.parity.prove.record.torch_side.borrowed import Borrowed


class Observed(NamedTuple):
    """What one forward and backward pass of a module gives."""

    tensors: list[torch.Tensor]  # outputs and gradients
    others: list[Any]  # outputs that are not tensors
    changed: list[str]  # buffers


def observed(module: nn.Module, inputs: PyTree, training: bool) -> Observed:
    """Run a module in one mode, with the same random numbers each time."""
    borrowed = Borrowed(module)  # a run in train mode changes buffers
    try:
        with borrowed.in_dtype(None), in_mode(module, training), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            before = {name: b.detach().clone() for name, b in module.named_buffers()}
            example = tensors(inputs, module)
            out = module(**example) if isinstance(example, Mapping) else module(*example)
            leaves = pytree.tree_leaves(out)
            values = [x for x in leaves if isinstance(x, torch.Tensor)]
            after = dict(module.named_buffers())
            changed = [n for n, b in before.items() if not same(b, after[n])]
            found = [x.detach().clone() for x in [*values, *_gradients(module, values)]]
            return Observed(found, [x for x in leaves if not isinstance(x, torch.Tensor)], changed)
    finally:
        borrowed.give_back()


def _gradients(module: nn.Module, outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    params = [p for p in module.parameters() if p.requires_grad]
    outputs = [x for x in outputs if x.requires_grad]
    if not params or not outputs:
        return []
    seeds = [torch.randn_like(x) for x in outputs]
    kept = [p.grad for p in params]
    try:
        for p in params:
            p.grad = None
        torch.autograd.backward(outputs, seeds)  # `grad` refuses a checkpoint with use_reentrant
    except RuntimeError as error:
        raise PortError(
            f"torch raises in the backward pass of {type(module).__name__} on the example, so "
            f"there is no gradient to re-express; mend the module first: {error}"
        ) from error
    else:
        return [torch.zeros_like(p) if p.grad is None else p.grad for p in params]
    finally:
        for p, grad in zip(params, kept, strict=True):
            p.grad = grad


def depends_on_mode(train: Observed, evaluated: Observed) -> bool:
    """Return whether anything differs between the modes; objects that are not tensors may."""
    if train.changed or evaluated.changed or train.others or evaluated.others:
        return True
    if len(train.tensors) != len(evaluated.tensors):
        return True
    return not all(map(same, train.tensors, evaluated.tensors))
