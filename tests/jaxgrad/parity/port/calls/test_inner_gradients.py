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


class Penalized(nn.Module):
    """The gradient of a network that is called for its output too, and changes its buffers."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        y = self.network(x)
        mixed = (0.5 * x).detach().requires_grad_()
        total = self.network(mixed).tanh().sum()
        (grad,) = torch.autograd.grad(total, mixed, create_graph=True)
        return y + grad


LAYERS = {
    "norm": nn.BatchNorm1d(3),
    "dropout": nn.Dropout(0.5),
    "spectral": nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)),
}


@pytest.mark.parametrize("style", ["functions", "nnx"])
@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_the_differentiated_function_begins_with_the_buffers_before_their_update(layer, style):
    """A critic that updates its buffers updates them once for its gradient penalty."""
    network = nn.Sequential(nn.Linear(3, 3), layer)

    assert proves(Penalized(network), X, style=style)


def test_spectral_norm_by_hooks_begins_with_the_vectors_before_their_update():
    """The deprecated `nn.utils.spectral_norm` sets the weight in a hook."""
    network = nn.Sequential(nn.Linear(3, 3), nn.utils.spectral_norm(nn.Linear(3, 3)))

    assert proves(Penalized(network), X)


class Method(Penalized):
    """A network that is called by a method of the module."""

    def forward(self, x):
        mixed = (0.5 * x).detach().requires_grad_()
        (grad,) = torch.autograd.grad(self.score(mixed).sum(), mixed, create_graph=True)
        return grad

    def score(self, x):
        return self.network(x).tanh()


def test_a_flax_class_differentiates_a_copy_if_its_calls_change_variables():
    """In a function that JAX differentiates, flax changes no variable of the module itself."""
    linear, norm = nn.Linear(3, 3), nn.BatchNorm1d(3)

    with_norm = port(Method(nn.Sequential(linear, norm)), (X,), style="nnx")
    without = port(Method(linear), (X,), style="nnx")

    assert with_norm.report is not None and with_norm.report.verdict == "pass"
    assert "earlier = nnx.clone(self)" in with_norm.source
    assert "self = nnx.clone(earlier)" in with_norm.source
    assert "clone" not in without.source


class OwnPenalty(nn.Module):
    """A call of a helper that needs the gradient of what torch has computed in it."""

    def __init__(self):
        super().__init__()
        self.critic = nn.utils.spectral_norm(nn.Linear(3, 1))

    def forward(self, x):
        return penalty(self.critic, x) + self.critic(x).mean()


def penalty(critic, x):
    """Return the gradient penalty of a critic."""
    mixed = (0.5 * x).detach().requires_grad_()
    (grad,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return (grad.norm(dim=1) - 1).square().mean()


def test_a_gradient_penalty_in_a_helper_of_a_critic_with_spectral_norm_is_proved():
    """The trial that judges the inputs records gradients, because the module needs them."""
    assert proves(OwnPenalty(), X)
