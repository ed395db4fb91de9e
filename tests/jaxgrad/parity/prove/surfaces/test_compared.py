"""The values whose cotangents are compared, with those that custom Functions return."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.surfaces import compared
from jaxgrad.parity.prove.torch_side.values import TorchRun, Value
from tests.jaxgrad.parity.prove._helpers import arrays, draw


X = np.random.default_rng(0).standard_normal((3, 4))


def value(op: str, *inputs: int) -> Value:
    return Value("m", op, inputs, (3, 4), fingerprint(X), cotangent=fingerprint(X))


def run(*values: Value) -> TorchRun:
    return TorchRun(list(values), [], {}, [], {}, [], {}, None, [], [], {})


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        del ctx
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        del ctx
        return -0.5 * grads[0]


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        del ctx
        return (4 * x).round() / 4

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        del ctx
        return grads[0]


class Adversarial(nn.Module):
    """Two heads on rounded features, the second behind a gradient reversal."""

    def __init__(self, quantized: bool):
        super().__init__()
        self.quantized = quantized
        self.features, self.label, self.domain = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(self.features(x))
        h = Round.apply(h) if self.quantized else h
        return self.label(h), self.domain(Reverse.apply(h))


def straight_through(x: Any) -> Any:
    return x + jax.lax.stop_gradient(jnp.round(4 * x) / 4 - x)


def proved(quantized: bool, factor: float, rounded: Callable[[Any], Any] | None = None) -> Report:
    torch.manual_seed(0)
    module = Adversarial(quantized)
    rounded = rounded or (straight_through if quantized else lambda x: x)

    @jax.custom_vjp
    def reverse(x: Any) -> Any:
        return x

    reverse.defvjp(lambda x: (x, None), lambda _, grad: (factor * grad,))

    def port(p: Any, x: Any) -> Any:
        def linear(name: str, x: Any) -> Any:
            return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

        h = rounded(jnp.tanh(linear("features", x)))
        return linear("label", h), linear("domain", reverse(h))

    return prove(module, port, arrays(module), (draw(4, 3),))


@pytest.mark.parametrize("quantized", [True, False])
def test_a_wrong_gradient_reversal_is_located_at_the_function(quantized):
    """The finding names torch's Function, JAX's custom_vjp and the factor between them."""
    assert proved(quantized, -0.5).verdict == "pass"
    first = proved(quantized, 1.0).first
    assert first is not None
    assert (first.surface, first.torch, first.op) == ("backward", "(root)", "Reverse")
    assert first.cause == "JAX's gradient through this call is -2 times torch's"
    assert "custom_vjp" in first.jax
    assert first.torch_line.startswith("test_compared.py:")


def test_a_missing_straight_through_estimator_is_located_at_the_function():
    """Rounding has no gradient in JAX, and torch's Function passes it on."""
    first = proved(True, -0.5, lambda x: jnp.round(4 * x) / 4).first
    assert first is not None
    assert (first.op, first.cause) == ("Round", "JAX passes no gradient through this call")


def test_the_values_inside_a_function_are_not_stopped():
    """The Function's own `backward` has their gradient; a detached operand is stopped."""
    values = [value("linear"), value("round", 0), value("Round", 1, 0), value("detach", 0)]
    values[1].cotangent = values[3].cotangent = None
    values[1].requires_grad = values[3].requires_grad = False
    record = run(*values)
    assert compared.stopped(record) == {1, 3}
    values[2].own_gradient = True
    assert compared.inside_functions(record) == {1}
    assert compared.stopped(record) == {3}
    values[2].inputs = (1, 0, 3)
    assert compared.stopped(record) == {3}


def test_values_under_no_grad_that_depend_on_weights_are_stopped():
    """Values of data alone are not stopped, since they have no gradient anyway."""
    weights, data, later, last = value("linear"), value("exp"), value("exp", 0), value("exp", 2)
    weights.weights, weights.requires_grad = ("w",), False
    for v in (data, later, last):
        v.requires_grad = False
    record = dataclasses.replace(run(weights, data, later, last), grads={"w": X})

    assert compared.stopped(record) == {0, 2, 3}
    assert compared.stopped(dataclasses.replace(record, grads={"w": None})) == set()


def test_a_value_has_siblings_if_one_call_returned_several():
    """Views of one call, as of `split`, are compared all the same."""
    numbers = [3, 3, 4, -1, -1, 5, 6, 5]
    ops = ["lstm", "lstm", "mul", "add", "add", "gru", "exp", "gru"]
    values = [value(op) for op in ops]
    for x, number in zip(values, numbers, strict=True):
        x.call_number = number
    record = run(*values)
    siblings = [compared._has_siblings(record, k) for k in range(len(values))]
    assert siblings == [True, True, False, False, False, True, False, True]
    record.values[0].op = "split"
    assert not compared._has_siblings(record, 0)
