"""Small modules of one gradient behaviour each, and the piece of the port that re-expresses it.

Without that piece the proof of the port must fail.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from parity_tests.port_collection.entry import Entry, normal


@dataclasses.dataclass(frozen=True)
class Behaviour:
    """A module of one gradient behaviour.

    Attributes:
        entry: The module and its inputs.
        piece: The piece of the port's source that re-expresses the behaviour; empty if it is the
            mask of the trained params, `ported.trainable`.
        instead: The source that a person writes who forgets the behaviour.
    """

    entry: Entry
    piece: str
    instead: str = ""


class Layers(nn.Module):
    """Two layers, which the modules below connect in different ways."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 4), nn.Linear(4, 2)


class Detach(Layers):
    def forward(self, x):
        h = self.inner(x)
        return self.outer(h) * h.detach().sum(-1, keepdim=True)


class NoGrad(Layers):
    def forward(self, x):
        h = self.inner(x)
        with torch.no_grad():
            scale = h.norm(dim=-1, keepdim=True)
        return self.outer(h / (scale + 1e-6))


class NoGradDecorator(Layers):
    @torch.no_grad()
    def target(self, h):
        return torch.tanh(h) * 2

    def forward(self, x):
        h = self.inner(x)
        return self.outer(h * self.target(h))


class Data(Layers):
    def forward(self, x):
        h = self.inner(x)
        return self.outer(h - h.data.mean(-1, keepdim=True))


class Frozen(Layers):
    def __init__(self):
        super().__init__()
        self.inner.requires_grad_(False)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


class TensorHook(Layers):
    def forward(self, x):
        h = self.inner(x)
        h.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
        return self.outer(h)


class ParameterHook(Layers):
    def __init__(self):
        super().__init__()
        self.inner.weight.register_hook(lambda grad: 0.5 * grad)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


def halve(module: nn.Module, grad_input: Any, grad_output: Any) -> tuple[Tensor]:
    return (grad_input[0] * 0.5,)


class ModuleHook(Layers):
    def __init__(self):
        super().__init__()
        self.outer.register_full_backward_hook(halve)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


class Checkpoint(Layers):
    def forward(self, x):
        h: Any = checkpoint(self.inner, x, use_reentrant=False)
        return self.outer(torch.tanh(h))


class ClipFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bound: float):  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(x)
        ctx.bound = bound
        return x.clamp(-bound, bound)

    @staticmethod
    def backward(ctx: Any, grad: Tensor):  # pyright: ignore[reportIncompatibleMethodOverride]
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= ctx.bound) * 0.5, None


class CustomFunction(Layers):
    def forward(self, x):
        h = ClipFunction.apply(self.inner(x), 0.5)
        return self.outer(h)


class StraightThrough(Layers):
    def forward(self, x):
        h = torch.sigmoid(self.inner(x))
        return self.outer(h + (h.round() - h).detach())


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor):  # pyright: ignore[reportIncompatibleMethodOverride]
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor):  # pyright: ignore[reportIncompatibleMethodOverride]
        return grad.neg()


class GradientReversal(Layers):
    def forward(self, x):
        return self.outer(Reverse.apply(self.inner(x)))


class Penalty(Layers):
    def forward(self, x):
        x = x.detach().requires_grad_(True)
        out = self.outer(torch.tanh(self.inner(x)))
        (grad,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        return out.sum() + (grad.norm(dim=-1) - 1).square().mean()


class InPlace(Layers):
    def forward(self, x):
        h = self.inner(x)
        h.mul_(torch.sigmoid(h))
        return self.outer(h)


class View(Layers):
    def forward(self, x):
        h = self.inner(x)
        h[:, 0].mul_(3.0)
        return self.outer(h)


class MaskedAssignment(Layers):
    def forward(self, x, mask):
        h = self.inner(x) * 2
        h[mask] = 0.0
        return self.outer(h)


class Autocast(Layers):
    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            h = self.inner(x)
        return self.outer(torch.tanh(h.to(x.dtype)))


class Dropout(Layers):
    def forward(self, x):
        return self.outer(F.dropout(self.inner(x), 0.5, self.training))


class BatchNorm(Layers):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.outer(self.norm(self.inner(x)))


class Ties(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x.max(dim=-1).values[:, None] * self.scale


class Clamp(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x.clamp(0.0, 1.0) * self.scale


class ZeroNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return (x * self.scale).norm(dim=-1)


class Where(Layers):
    def forward(self, x):
        h = self.inner(x)
        return self.outer(torch.where(h > 0, h, h.detach() * 0.1))


class Buffer(Layers):
    average: Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("average", torch.zeros(4))

    def forward(self, x):
        h = self.inner(x)
        if self.training:
            self.average.mul_(0.9).add_(0.1 * h.detach().mean(0))
        return self.outer(h - self.average)


class TiedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(3, 4, bias=False), nn.Linear(4, 3)
        self.mirror = nn.Linear(3, 4, bias=False)
        self.mirror.weight = self.encode.weight

    def forward(self, x):
        return self.decode(torch.tanh(self.encode(x)) * self.mirror(x))


X = (normal(4, 3),)
ZERO = (np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], np.float32),)
MASK = (normal(4, 3), np.array([True, False, False, True]))
BEHAVIOURS = {
    "detach": Behaviour(Entry(Detach, X), "lax.stop_gradient"),
    "no_grad": Behaviour(Entry(NoGrad, X), "lax.stop_gradient"),
    "no_grad_decorator": Behaviour(Entry(NoGradDecorator, X), "lax.stop_gradient"),
    "data": Behaviour(Entry(Data, X), "lax.stop_gradient"),
    "frozen": Behaviour(Entry(Frozen, X), ""),
    "tensor_hook": Behaviour(
        Entry(TensorHook, X),
        "h = jaxgrad.hook(h, lambda grad: F.clamp(grad, min=-0.1, max=0.1))",
        "pass",
    ),
    "parameter_hook": Behaviour(Entry(ParameterHook, X), "0.5 * grad", "grad"),
    "module_hook": Behaviour(Entry(ModuleHook, X), "grad_input[0] * 0.5", "grad_input[0]"),
    "checkpoint": Behaviour(
        Entry(Checkpoint, X),
        'jax.checkpoint(lambda x: F.linear(x, **p["inner"]))(x)',
        "jnp.zeros((len(x), 4))",
    ),
    "custom_function": Behaviour(Entry(CustomFunction, X), "* 0.5, None", ", None"),
    "straight_through": Behaviour(Entry(StraightThrough, X), "lax.stop_gradient"),
    "gradient_reversal": Behaviour(Entry(GradientReversal, X), "-grad", "grad"),
    "penalty": Behaviour(Entry(Penalty, X), "F.norm(grad", "F.norm(lax.stop_gradient(grad)"),
    "in_place": Behaviour(Entry(InPlace, X), "h = h * jax.nn.sigmoid(h)", "pass"),
    "view": Behaviour(Entry(View, X), "h = h.at[:, 0].set(h[:, 0] * 3.0)", "pass"),
    "masked_assignment": Behaviour(
        Entry(MaskedAssignment, MASK), "h = jnp.where(mask[..., None], 0.0, h)", "pass"
    ),
    "autocast": Behaviour(
        Entry(Autocast, X),
        'jaxgrad.autocast(lambda: F.linear(x, **p["inner"]), jnp.bfloat16)()',
        'F.linear(x, **p["inner"])',
    ),
    "dropout": Behaviour(Entry(Dropout, X), "training=training, key=rng", "training=False"),
    "batch_norm": Behaviour(
        Entry(BatchNorm, X),
        'x, p["running_mean"], p["running_var"] =',
        'x, _, p["running_var"] =',
    ),
    "ties": Behaviour(Entry(Ties, X), "F.max(x, dim=-1).values", "x[..., 0]"),
    "clamp": Behaviour(Entry(Clamp, X), "F.clamp(x, min=0.0, max=1.0)", "x"),
    "zero_norm": Behaviour(
        Entry(ZeroNorm, ZERO),
        'F.norm(x * p["scale"], dim=-1)',
        'jnp.linalg.norm(x * p["scale"], axis=-1)',
    ),
    "where": Behaviour(Entry(Where, X), "lax.stop_gradient"),
    "buffer": Behaviour(Entry(Buffer, X), 'p["average"] = ', "_ = "),
    "tied_weights": Behaviour(
        Entry(TiedWeights, X),
        'F.linear(x, p["encode"]["weight"])',
        'F.linear(x, lax.stop_gradient(p["encode"]["weight"]))',
    ),
}
