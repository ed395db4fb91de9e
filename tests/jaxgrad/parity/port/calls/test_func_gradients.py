"""`torch.func`'s transformations inside of a module are JAX's."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def energy(self, v):
        return torch.tanh(self.first(v)).sum()


class PerSample(Layers):
    def forward(self, x):
        return self.second(torch.func.vmap(torch.func.grad(self.energy))(x))


def test_a_gradient_per_sample():
    assert "jax.vmap(jax.grad(" in source(PerSample(), X)
    assert agrees(PerSample(), X)
    assert not agrees(PerSample(), X, without="jnp.tanh(", instead="jax.lax.stop_gradient(")


def test_a_gradient_and_a_map_inside_of_a_module_are_proved():
    report = port(PerSample().double(), (X.astype(np.float64),)).report
    assert report is not None and report.verdict == "pass"


class OfTheSecond(Layers):
    def forward(self, x):
        def value(scale, v):
            return (torch.tanh(self.first(v)) * scale).sum()

        return self.second(torch.func.grad(value, argnums=1)(x.mean(), x))


def test_a_gradient_with_respect_to_the_second_argument():
    assert "argnums=1" in source(OfTheSecond(), X)
    assert agrees(OfTheSecond(), X)


class ValueAndGradient(Layers):
    def forward(self, x):
        def value(scale, v):
            return (torch.tanh(self.first(v)) * scale).sum()

        grads, energy = torch.func.grad_and_value(value, argnums=1)(x.mean(), x)
        slope = torch.func.grad_and_value(self.energy)(x)[0]
        return self.second(2 * grads - energy + slope)


def test_a_gradient_with_its_value_swaps_jaxs_pair():
    """torch returns the gradients first, JAX the value."""
    text = source(ValueAndGradient(), X)
    assert "(x.mean(), x)[::-1]" in text
    assert "slope = jax.value_and_grad(lambda x: energy_forward(p, x))(x)[1]" in text
    assert agrees(ValueAndGradient(), X)
    assert not agrees(ValueAndGradient(), X, without="[::-1]")


class WithValue(Layers):
    def forward(self, x):
        return self.second(torch.func.grad(lambda v: (self.energy(v), v), has_aux=True)(x)[0])


def test_an_option_without_a_counterpart_is_refused():
    with pytest.raises(PortError, match="torch.func.grad with has_aux="):
        port(WithValue(), (X,), prove=False)


def test_an_argument_that_is_no_tensor_is_refused():
    class Numbers(Layers):
        def forward(self, x):
            return self.second(x) * torch.func.grad(self.energy)(2.0)

    with pytest.raises(PortError, match="arguments that are not tensors"):
        port(Numbers(), (X,), prove=False)
