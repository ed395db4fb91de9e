"""Wrong gradients are explained by hooks: one for each use, one that JAX lacks, a wrong order."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad import hook
from jaxgrad.parity import prove
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays


Through = Callable[[Any], Any]


class Hooked(nn.Module):
    """A parameter, and a value computed from it, each with a hook that is not linear."""

    def __init__(self, x: list[float]):
        super().__init__()
        self.x = nn.Parameter(torch.tensor(x))

    def forward(self):
        self.x.register_hook(lambda g: g * g.abs())
        h = self.x * 1.5
        h.register_hook(lambda g: g * g.abs())
        return (h**2 + 3 * h).sum() + (self.x**2).sum()


def hooked(on_parameter: bool, on_value: bool) -> Callable[[Any], Any]:
    """Return the port, whose hooks see the sum over all uses of a value, or each use."""

    def squared(x: Any) -> Any:
        return hook(x, lambda g: g * jnp.abs(g))

    def port(p: Any) -> Any:
        first = squared(p["x"])
        second = first if on_parameter else squared(p["x"])
        h = 1.5 * first
        one = squared(h)
        other = one if on_value else squared(h)
        return jnp.sum(one**2 + 3 * other) + jnp.sum(second**2)

    return port


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("on_parameter", "on_value"), [(False, True), (True, False)])
def test_a_hook_on_each_use_of_a_value_is_explained(on_parameter, on_value):
    """torch's hook gets the sum over all uses of a parameter or of a value."""
    module = Hooked([-1.0, 0.5, 2.0])
    prove(module, hooked(True, True), arrays(module), ()).check()
    first = prove(module, hooked(on_parameter, on_value), arrays(module), ()).first

    assert first is not None and first.tested
    assert first.cause.startswith("2 uses of one value each have a hook of their own, at test_")
    assert "torch one hook gets the sum" in first.cause
    assert "(rerunning JAX with one hook, all gradients agree)" in first.cause


def test_a_change_that_repairs_the_gradients_on_one_draw_is_not_a_cause():
    """The clipped gradient of one use is 1 by coincidence, as torch's clipped sum is."""

    class Saturated(Hooked):
        def forward(self):
            self.x.register_hook(lambda g: g.clamp(-1, 1))
            return (self.x**2 + 3 * self.x).sum()

    module = Saturated([0.5, 1.0, 2.0])

    def port(p: Any) -> Any:
        return jnp.sum(hook(p["x"], lambda g: g.clip(-1, 1)) ** 2 + 3 * p["x"])

    report = prove(module, port, arrays(module), ())

    assert report.first is not None
    assert "stop_gradient" not in report.first.cause and not report.first.tested


def test_a_hook_that_jax_lacks_is_explained():
    """torch's gradients without its hook are JAX's."""

    class Clipped(Hooked):
        def forward(self):
            h = torch.sin(self.x)
            h.register_hook(lambda g: g * g.abs())
            return (h**2 + 3 * h).sum()

    module = Clipped([0.5, 1.0, 2.0])

    def port(p: Any, through: Through = identity) -> Any:
        h = through(jnp.sin(p["x"]))
        return jnp.sum(h**2 + 3 * h)

    def hooked(p: Any) -> Any:
        return port(p, lambda h: hook(h, lambda g: g * jnp.abs(g)))

    prove(module, hooked, arrays(module), ()).check()
    first = prove(module, port, arrays(module), ()).first
    assert first is not None and first.tested
    assert first.cause.startswith("torch runs a hook on the output of sin (registered at ")
    assert "(rerunning torch without it, all gradients agree)" in first.cause
    # The gradient that the rest of torch's program receives has passed the hook.
    assert first.torch_value == pytest.approx((2 * np.sin(2.0) + 3) ** 2)
    assert first.jax_value == pytest.approx(2 * np.sin(2.0) + 3)


class Ordered(Hooked):
    """A value with three hooks, of which each exchange changes the gradient."""

    def forward(self):
        h = self.x * 1.5
        h.register_hook(lambda g: 10 * g)
        h.register_hook(lambda g: g.clamp(-1, 1))
        h.register_hook(lambda g: g + 0.5)
        return (h**2).sum()


def ordered(*hooks: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the port that wraps a value in hooks, beginning with the innermost."""

    def port(p: Any) -> Any:
        h = 1.5 * p["x"]
        for each in hooks:
            h = hook(h, each)
        return jnp.sum(h**2)

    return port


def test_hooks_in_the_wrong_order_are_explained():
    """Wrappers that are nested as torch registers its hooks run in the opposite order."""
    module = Ordered([-1.0, 0.1, 2.0])
    hooks = (lambda g: 10 * g, lambda g: g.clip(-1, 1), lambda g: g + 0.5)
    prove(module, ordered(*hooks[::-1]), arrays(module), ()).check()
    first = prove(module, ordered(*hooks), arrays(module), ()).first

    assert first is not None and first.tested
    assert first.cause.startswith("torch runs the hooks on the output of mul in the order ")
    assert "opposite order (rerunning torch so, all gradients agree); of nested" in first.cause


def test_another_order_of_hooks_is_not_called_the_opposite_one():
    """The negative control: a port that exchanges only two of three hooks gets no such cause."""
    module = Ordered([-1.0, 0.1, 2.0])
    port = ordered(lambda g: g + 0.5, lambda g: 10 * g, lambda g: g.clip(-1, 1))
    first = prove(module, port, arrays(module), ()).first

    assert first is not None and "order" not in first.cause


class Halved(nn.Linear):
    """A value with a hook, which two losses read, and a buffer under `no_grad`."""

    c: torch.Tensor

    def __init__(self):
        super().__init__(3, 4)
        self.register_buffer("c", torch.zeros(4))

    def forward(self, input):
        e = torch.tanh(super().forward(input))
        e.register_hook(lambda g: 0.5 * g)
        with torch.no_grad():
            self.c.copy_(0.9 * self.c + torch.ones(len(e)) @ e)
        return e.exp().sum() + (e**2).sum()


@pytest.mark.parametrize("hooked", [True, False])
def test_past_a_hook_no_consumer_has_a_multiple_of_torchs_gradient(hooked):
    """torch changes the sum over all consumers; the place is one that passes a gradient."""

    def port(p: Any, x: Any) -> Any:
        e = jnp.tanh(x @ p["weight"].T + p["bias"])
        one = hook(e, lambda g: 0.5 * g) if hooked else e
        state = {**p, "c": 0.9 * p["c"] + jnp.ones(len(e)) @ e}
        return jnp.exp(one).sum() + (e**2).sum(), state

    torch.manual_seed(0)
    module, x = Halved(), np.random.default_rng(0).normal(size=(4, 3))
    first = prove(module, port, arrays(module), (x,), has_state=True).first

    assert first is not None and first.op in ("exp", "pow")
    assert "times torch's" not in first.cause
    assert ("torch runs a hook on the output of tanh" in first.cause) == (not hooked)
