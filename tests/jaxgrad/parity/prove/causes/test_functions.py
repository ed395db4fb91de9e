"""Wrong gradients are explained by a custom autograd.Function that the port has not taken over."""

import textwrap
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad import from_function
from jaxgrad.parity import prove
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Scale(torch.autograd.Function):
    """Return a copy, and a tenth of the gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.factor = factor
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] * ctx.factor, None


class Bounded(torch.autograd.Function):
    """Return a sine, and pass the gradient on; its context is set up apart from `forward`."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0]


class Jaxs:
    """`Scale` as a class for `jaxgrad.from_function`."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        return x + 0.0

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.factor, None


class Net(nn.Module):
    def __init__(self, scales: bool = True, bounds: bool = False):
        super().__init__()
        self.a, self.b = nn.Linear(4, 5), nn.Linear(5, 2)
        self.scales, self.bounds = scales, bounds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.a(x))
        if self.scales:
            h = Scale.apply(h, 0.1)
        if self.bounds:
            h = Bounded.apply(h)
        return self.b(h)


def port(
    p: Any, x: Any, scaled: Any = identity, bounded: Any = identity, *, bias: bool = True
) -> Any:
    h = bounded(scaled(jnp.tanh(x @ p["a.weight"].T + p["a.bias"])))
    return h @ p["b.weight"].T + (p["b.bias"] if bias else 0)


INPUTS = (draw(6, 4),)


def test_a_lost_function_is_named_with_its_remedy():
    module = Net()
    right = from_function(Jaxs)
    prove(module, lambda p, x: port(p, x, lambda h: right(h, 0.1)), arrays(module), INPUTS).check()
    first = prove(module, port, arrays(module), INPUTS).first

    assert first is not None and first.tested
    line = Scale.backward.__code__.co_firstlineno + 1
    assert first.cause == (
        f"torch's Scale has a backward of its own (test_functions.py:{line}), JAX has the "
        "derivative of the forward pass (rerunning torch with it, all gradients agree); "
        "write Scale with jaxgrad.from_function"
    )


def test_a_torch_port_is_told_to_leave_the_function_out():
    module = Net()
    first = prove(module, port, arrays(module), INPUTS, reference="jax").first

    assert first is not None and first.tested
    assert first.cause.startswith("Scale has a backward of its own (test_functions.py:")
    assert first.cause.endswith("all gradients agree); leave the Function out")


@pytest.mark.parametrize("scaled", [True, False])
def test_a_function_with_a_separate_context_and_two_functions_are_named(scaled: bool):
    """The port bounds, with JAX's gradient, which is 0; without `scaled` it loses both."""
    module, right = Net(bounds=True), from_function(Jaxs)

    def bounding(p: Any, x: Any) -> Any:
        through = (lambda h: right(h, 0.1)) if scaled else (lambda h: h)
        return port(p, x, through, jnp.sin)

    first = prove(module, bounding, arrays(module), INPUTS).first

    assert first is not None and first.tested
    has = "Bounded has a backward" if scaled else "Scale and Bounded have backwards"
    assert first.cause.startswith(f"torch's {has} of")
    assert "all gradients agree" in first.cause


def test_a_port_with_another_rule_of_its_own_has_no_lost_function():
    class Other(Jaxs):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 0.5, None

    module, wrong = Net(), from_function(Other)
    report = prove(module, lambda p, x: port(p, x, lambda h: wrong(h, 0.1)), arrays(module), INPUTS)

    assert report.verdict == "fail" and report.first is not None
    assert "backward of its own" not in report.first.cause


def test_a_lost_function_is_placed_beside_a_mistake_of_the_forward_pass():
    """Both are printed, the second one in a torch that makes the first one too."""
    module = Net()
    report = prove(module, lambda p, x: port(p, x, bias=False), arrays(module), INPUTS)

    assert [f.surface for f in (report.first, *report.further) if f] == [
        "structure",
        "forward",
        "backward",
    ]
    assert "torch's Scale has a backward of its own" in report.further[1].cause


def test_a_second_mistake_without_a_cause_is_placed():
    class Other(Jaxs):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * jnp.sin(grad), None

    module, wrong = Net(), from_function(Other)

    def twice(p: Any, x: Any) -> Any:
        return port(p, x, lambda h: wrong(h, 0.1), bias=False)

    report = prove(module, twice, arrays(module), INPUTS)

    *_, second = report.further
    assert second.surface == "backward" and not second.tested
    assert second.torch_line.startswith("test_functions.py:")
    assert "the gradient flowing into the output of torch's tanh differs" in second.text
    assert "passes no gradient" not in second.cause  # as the values inside of a rule do
    assert textwrap.indent(second.text, "  ") in str(report)


def test_the_same_reruns_of_torch_leave_its_functions_as_they_are():
    before = vars(torch.autograd.Function)["apply"]
    prove(Net(), port, arrays(Net()), INPUTS)

    assert vars(torch.autograd.Function)["apply"] is before
    x = torch.ones(2, requires_grad=True)
    Scale.apply(x, 0.1).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 0.1)
