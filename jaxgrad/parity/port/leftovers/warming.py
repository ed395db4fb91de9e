"""Run a module once before it is interpreted, so that it finds its caches filled."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.modes.modes import in_mode
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.equal import same
from jaxgrad.parity.port.values.inputs import tensors


def warm_up(module: nn.Module, inputs: PyTree, training: bool) -> None:
    """Run a module in one mode; its parameters and buffers keep their values.

    Raises:
        PortError: The run changes an attribute and a buffer of one module, so that the attribute
            does not fit the buffer any more.
    """
    before = {m: _Held(m) for m in module.modules()}
    with contextlib.suppress(Exception), torch.random.fork_rng(devices=[]), torch.no_grad():
        example = tensors(inputs, module)
        with in_mode(module, training):
            module(**example) if isinstance(example, Mapping) else module(*example)
    for held in before.values():
        held.give_back()


class _Held:
    """The tensors and attributes of one module before it runs."""

    def __init__(self, module: nn.Module) -> None:
        self.module, self.attributes = module, _attributes(module)
        self.places = dict(module._parameters), dict(module._buffers)
        self.tensors = {
            x: x.detach().clone() for d in self.places for x in d.values() if x is not None
        }

    def give_back(self) -> None:
        module = self.module
        buffers = self.places[1]
        changed = set(module._buffers) != set(buffers) or any(
            x is not None and (module._buffers[name] is not x or not same(self.tensors[x], x))
            for name, x in buffers.items()
        )
        if changed and _attributes(module) != self.attributes:
            raise PortError(
                f"{type(module).__name__} changes its buffers and attributes while it runs"
                "; return the new values from forward"
            )
        own: Any
        for own, held in zip((module._parameters, module._buffers), self.places, strict=True):
            own.clear()
            own.update(held)
        for tensor, value in self.tensors.items():
            tensor.data = value


def _attributes(module: nn.Module) -> dict[str, Any]:
    """Return what identifies the attributes of a module that are not tensors or modules."""
    own = {k: x for k, x in vars(module).items() if not k.startswith("_") or k[1:2].islower()}
    simple = (bool, int, float, str, type(None))
    return {
        k: x if isinstance(x, simple) else id(x)
        for k, x in own.items()
        if k not in ("_parameters", "_buffers", "_modules", "training")
    }
