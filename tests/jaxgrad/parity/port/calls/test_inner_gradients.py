"""`autograd.grad` inside of a module is the gradient of a function."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Equilibrium(nn.Module):
    """A hook that corrects the gradient with the derivative of the layer at a fixed point."""

    def __init__(self, inside):
        super().__init__()
        self.fc, self.inside = nn.Linear(3, 3), inside

    def forward(self, x):
        z = self.fc(x)
        start = z.detach().requires_grad_()
        if self.inside:

            def correct(grad):
                with torch.enable_grad():
                    value = torch.tanh(self.fc(start))
                return grad + torch.autograd.grad(value, start, grad)[0]
        else:
            value = torch.tanh(self.fc(start))

            def correct(grad):
                return grad + torch.autograd.grad(value, start, grad, retain_graph=True)[0]

        if z.requires_grad:
            z.register_hook(correct)
        return z


def test_the_gradient_of_a_value_from_outside_of_a_hook_is_refused():
    """In JAX such a value is a constant, whose gradient is zero."""
    with pytest.raises(PortError) as caught:
        port(Equilibrium(inside=False), (X,), prove=False)

    line = Equilibrium.forward.__code__.co_firstlineno + 13
    assert str(caught.value).startswith(f"test_inner_gradients.py:{line} ")
    assert (
        "autograd.grad of `value`, which was computed from `start` outside of this function: JAX "
        "differentiates a function, and not a value; compute it again inside of this function"
    ) in str(caught.value)


def test_the_gradient_of_a_value_that_the_hook_computes_is_proved():
    assert proves(Equilibrium(inside=True), X)
