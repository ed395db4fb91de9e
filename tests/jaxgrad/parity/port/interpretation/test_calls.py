"""Values of Python that a forward makes: partial functions, modules, closures, lists, flags."""

import dataclasses
import functools

import numpy as np
import pytest
import torch
import torch.nn.functional as tf
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof.proofs import proved
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)


def scaled(x, y, *, factor):
    return x * y.detach() * factor


class Partial(Base):
    """Calls functions whose arguments are partly given, one of which is made in forward."""

    def __init__(self):
        super().__init__()
        self.norm = functools.partial(tf.layer_norm, normalized_shape=(4,), eps=1e-3)

    def forward(self, x):
        by_first = functools.partial(scaled, self.first(x), factor=3.0)
        return self.norm(by_first(self.second(x)))


class Made(Base):
    """A module that makes modules without parameters in its forward."""

    def forward(self, x):
        act = nn.LeakyReLU(0.3)
        steps = nn.Sequential(nn.Softplus(beta=2), nn.Tanh())
        return steps(act(self.first(x))) + nn.Softmax(dim=-1)(self.second(x)).detach()


class Returned(Base):
    """A method returns a module, which forward calls."""

    def chosen(self, number):
        return self.first if number == 0 else self.second

    def forward(self, x):
        for number in range(2):
            x = self.chosen(number)(x).tanh()
        return x


class Holder:
    """An object of Python without methods."""

    hidden_0: torch.Tensor
    hidden_1: torch.Tensor


class Set(Base):
    """A module that sets numbers of its own, and tensors of an object by name."""

    def total(self, one, other):
        return one * self.factor_0 + other * self.factor_1

    def forward(self, x):
        holder = Holder()
        for number, layer in enumerate((self.first, self.second)):
            setattr(self, f"factor_{number}", number + 2)
            setattr(holder, f"hidden_{number}", layer(x))
        return self.total(holder.hidden_0, holder.hidden_1)


class Closures(Base):
    """A module that keeps nested functions in a tuple and in a dict."""

    def forward(self, x):
        scale = self.second(x).detach()

        def double(y):
            return 2 * y * scale

        steps = (double, lambda y: self.first(y) + y, torch.tanh)
        for step in steps:
            x = step(x)
        return {"double": double, "same": lambda y: y}["double"](x)


class Data(Base):
    """A module that gives a tensor its own data again, and sets `requires_grad` of another one."""

    def forward(self, x):
        x = self.first(x)
        x.data = x.data
        target = self.second(x).detach()
        target.requires_grad = True
        return (x - target) * x.data


class Slices(Base):
    """Assigns to slices and items of lists."""

    def forward(self, x):
        parts = [x, x, x, x]
        parts[1:3] = [self.first(x), self.second(x).detach(), x.sin()]
        parts[-1] = parts[1] * parts[2]
        del parts[0], parts[2:3]
        named = {"first": x, "rest": torch.stack(parts).cos()}
        del named["first"]
        return sum(named.values())


class Flagged(Base):
    """Returns bools beside its values."""

    def forward(self, x):
        y = self.second(self.first(x).tanh())
        return y, y > 0, (y > 5).any()


def test_a_port_returns_bools_too():
    """Outputs of bools are compared, and a port with others is refused."""
    torch.manual_seed(0)
    module = Flagged()
    assert proves(module, X)
    ported = port(module, (X,))
    wrong = ported.source.replace("y > 0", "y > 0.1")
    assert wrong != ported.source
    with pytest.raises(PortError, match="is not proved"):
        proved(dataclasses.replace(ported, source=wrong), module, (X,), (), 0)


CASES = {
    Partial: ("lax.stop_gradient(", "("),
    Made: ("lax.stop_gradient(", "("),
    Returned: ('p["second"]', 'p["first"]'),
    Set: ("* 3", "* 2"),
    Closures: ("lax.stop_gradient(", "("),
    Data: ("lax.stop_gradient(", "("),
    Slices: ("lax.stop_gradient(", "("),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", CASES)
def test_a_port_has_the_gradients_of_torch(kind):
    """The port is proved, and differs without the line of its gradient behaviour."""
    torch.manual_seed(0)
    module = kind()
    without, instead = CASES[kind]
    assert without in source(module, X), source(module, X)
    assert agrees(module, X)
    assert not agrees(module, X, without=without, instead=instead)
    assert proves(module, X)
