"""A hooked parameter has a name where one function reads it."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
KEPT = torch.tensor([[1.0], [0.0], [1.0], [0.0]])


class Twice(nn.Module):
    """A layer that is called twice, whose hook sees the sum of both gradients."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)
        self.first.weight.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
        self.norm.weight.register_hook(lambda grad: 3 * grad)

    def forward(self, x):
        return self.first(torch.tanh(self.norm(self.first(x))))


def test_a_hooked_parameter_is_a_variable():
    """The hook is written once, before both calls."""
    text = source(Twice(), X)
    assert 'first_weight = jaxgrad.hook(p["first"]["weight"], lambda grad: F.clamp(' in text
    assert 'F.linear(x, first_weight, p["first"]["bias"])' in text
    assert "F.layer_norm(" in text and 'norm_weight, p["norm"]["bias"])' in text
    assert "p = dict(p)" not in text and text.count("jaxgrad.hook(") == 2
    torch.manual_seed(0)
    assert agrees(Twice(), X)
    assert not agrees(Twice(), X, without="3 * grad", instead="grad")


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.linear.weight.register_hook(lambda grad: grad * KEPT)

    def forward(self, x):
        return torch.relu(self.linear(x)) + self.linear(x).tanh()


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = Inner(), nn.Linear(4, 4)

    def forward(self, x):
        return self.out(self.inner(x) + self.inner(2 * x))


def test_a_parameter_that_another_function_reads_is_hooked_in_the_params():
    """The function of the inner module gets the params with the hook."""
    text = source(Outer(), X)
    assert (
        'p["inner"]["linear"]["weight"] = jaxgrad.hook(' in text
        and "kept = jnp.array(" in text.lower()
    )
    torch.manual_seed(0)
    assert agrees(Outer(), X)
    assert not agrees(Outer(), X, without="grad * KEPT", instead="grad")
