"""A Function that runs a function again in its backward pass is a checkpoint of that function."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, length, *args):
        ctx.run, ctx.inputs, ctx.params = run, list(args[:length]), list(args[length:])
        with torch.no_grad():
            return ctx.run(*ctx.inputs)

    @staticmethod
    def backward(ctx, *grads):
        ctx.inputs = [x.detach().requires_grad_() for x in ctx.inputs]
        with torch.enable_grad():
            output = ctx.run(*[x.view_as(x) for x in ctx.inputs])
        found = torch.autograd.grad(output, ctx.inputs + ctx.params, grads, allow_unused=True)
        return (None, None, *found)


class Doubled(Checkpoint):
    """It is no checkpoint: its gradient is twice that of the function."""

    @staticmethod
    def backward(ctx, *grads):
        return Checkpoint.backward(ctx, *[2 * g for g in grads])


class Block(nn.Module):
    kind = Checkpoint

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)

    def block(self, x, scale):
        return self.second(torch.tanh(self.first(x)) * scale)

    def forward(self, x, scale):
        return self.kind.apply(self.block, 2, x, scale, *self.parameters())


class Wrong(Block):
    kind = Doubled


def test_a_function_that_recomputes_is_a_checkpoint():
    scale = np.full((3, 1), 0.5, np.float32)
    assert "jax.checkpoint(" in source(Block(), X, scale)
    assert agrees(Block(), X, scale)


def test_a_function_with_another_gradient_is_no_checkpoint():
    with pytest.raises(PortError, match="a value of type function cannot be written in the port"):
        source(Wrong(), X, np.full((3, 1), 0.5, np.float32))
