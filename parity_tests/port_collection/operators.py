"""Small modules of a few operators or statements each, which show the faults of an emitter."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from parity_tests.port_collection.behaviours import Layers
from parity_tests.port_collection.entry import Entry, normal


class Shapes(Layers):
    """Rearrangements of values, none of which has two dimensions of one size."""

    def forward(self, x):
        h = self.inner(x).unflatten(-1, (2, 2)).permute(1, 0, 2)
        h = torch.cat([h, 2 * h[:, :, :1]], dim=2).transpose(0, 2)
        first, second = h.flatten(1).split([3, h.shape[1] * h.shape[2] - 3], dim=1)
        a, b, c = torch.stack([first, first * 2, first - 1], dim=1).unbind(dim=1)
        return second.sum() * (a - b / 3).t() @ c.tril(diagonal=1).repeat(1, 2)[:, ::2]


class Sizes(Layers):
    def forward(self, x):
        h = self.inner(x).view(x.shape[0] * 2, 2)
        return self.outer(h.view(x.shape[0], -1) / x.shape[0])


class Reductions(Layers):
    def forward(self, x):
        h = self.inner(x)
        weights = h.softmax(dim=0) + h.log_softmax(dim=-1) * 0.1
        centred = h - h.mean(dim=0, keepdim=True) + h.sum(dim=1, keepdim=True)
        return self.outer(weights * centred.cumsum(dim=1) ** 3)


class Choices(Layers):
    def forward(self, x):
        h = self.inner(x)
        chosen = torch.where(h > 0, h, h * 3).masked_fill(h < -1, -0.5)
        left, right = torch.einsum("bi,bj->bij", h, chosen), torch.sub(h, chosen, alpha=2)
        return self.outer(torch.clone(left.mean(2)) + torch.maximum(right, h) @ h.T @ h)


class SavedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor):  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, grad: Tensor):  # pyright: ignore[reportIncompatibleMethodOverride]
        x, y = ctx.saved_tensors
        return grad * y, grad * x


class Product(Layers):
    def forward(self, x):
        h = self.inner(x)
        return self.outer(SavedProduct.apply(h, torch.sigmoid(h)))


class Pulled(Layers):
    def forward(self, x, cotangent):
        x = x.detach().requires_grad_(True)
        h = torch.tanh(self.inner(x))
        (grad,) = torch.autograd.grad(h, x, cotangent, create_graph=True)
        return self.outer(h).sum() + grad.square().sum()


def doubled(module: nn.Module, args: Any, out: Tensor) -> Tensor:
    return out * 2


class ForwardHook(Layers):
    def __init__(self):
        super().__init__()
        self.inner.register_forward_hook(doubled)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


class TensorHookScale(Layers):
    def forward(self, x):
        h = self.inner(x)
        h.register_hook(lambda grad: 3 * grad)
        return self.outer(h)


class Options(Layers):
    """Options of layers that differ from their defaults."""

    def __init__(self):
        super().__init__()
        self.first = nn.LayerNorm(4, eps=0.1)
        self.second = nn.BatchNorm1d(4, momentum=0.3)

    def forward(self, x):
        h = F.leaky_relu(self.second(self.first(self.inner(x))), 0.3)
        return self.outer(F.dropout(h, 0.2, self.training))


class Twins(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.two(torch.tanh(self.one(x)))


class Scaled(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return torch.tanh(self.linear(x) * self.factor) + x


class Constants(nn.Module):
    """Two parts that differ in a constant alone."""

    def __init__(self):
        super().__init__()
        self.small, self.large = Scaled(0.5), Scaled(2.0)

    def forward(self, x):
        return self.large(self.small(x))


class Unlike(nn.Module):
    """A loop whose turns differ, and whose order matters."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)])

    def forward(self, x):
        for number, part in enumerate(self.parts):
            x = part(x) * (number + 1)
        return x


class Mode(Layers):
    def forward(self, x):
        scale = 2.0 if self.training else 0.5
        return self.outer(torch.tanh(self.inner(x) * scale))


class Branch(Layers):
    def forward(self, x):
        h = self.inner(x)
        if h.sum() > 0:
            h = torch.tanh(h)
        else:
            h = h * 3
        return self.outer(h)


class TwoDropouts(Layers):
    def forward(self, x):
        h = self.inner(x)
        return self.outer(F.dropout(h, 0.5, self.training) + 2 * F.dropout(h, 0.5, self.training))


class Accumulate(Layers):
    def forward(self, x):
        h = self.inner(x)
        h += torch.sigmoid(h)
        h *= 2
        return self.outer(h / (1 + h**2))


class Threshold(Layers):
    def forward(self, x):
        return self.outer(self.inner(x) * (x.sum(-1, keepdim=True) > 0))


class Casts(Layers):
    def forward(self, x):
        h = self.inner(x.to(torch.bfloat16).to(torch.float32))
        return self.outer(h)


class Nested(Layers):
    def forward(self, x):
        power = 2

        def raised(y, shift=1.0):
            return (y + shift) ** power

        power = 3
        return self.outer(raised(self.inner(x)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 2, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x):
        out, hidden = self.rnn(x)
        return out.sum(1) + hidden.sum(0).repeat(1, 2)


X = (normal(4, 3),)
SEQUENCE = (normal(2, 5, 3),)
OPERATORS = {
    "shapes": Entry(Shapes, X, (normal(6, 3),)),
    "sizes": Entry(Sizes, X, (normal(6, 3),)),
    "reductions": Entry(Reductions, X),
    "choices": Entry(Choices, X),
    "product": Entry(Product, X),
    "pulled": Entry(Pulled, (*X, normal(4, 4))),
    "forward_hook": Entry(ForwardHook, X),
    "tensor_hook_scale": Entry(TensorHookScale, X),
    "options": Entry(Options, X),
    "twins": Entry(Twins, X),
    "constants": Entry(Constants, X),
    "unlike": Entry(Unlike, X),
    "mode": Entry(Mode, X),
    "branch": Entry(Branch, X, (3 * normal(4, 3, seed=2),)),
    "two_dropouts": Entry(TwoDropouts, X),
    "accumulate": Entry(Accumulate, X),
    "threshold": Entry(Threshold, X),
    "casts": Entry(Casts, X),
    "nested": Entry(Nested, X),
    "recurrent": Entry(Recurrent, SEQUENCE),
}
