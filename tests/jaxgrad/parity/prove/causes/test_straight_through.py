"""The remedy for a `detach` that only torch has: a stop_gradient, or a straight-through sum."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove


X = np.array([[0.4, 1.7], [-2.2, 0.9]], np.float32)


class Model(nn.Module):
    def __init__(self, middle: Callable[..., Any]):
        super().__init__()
        self.fc, self.middle = nn.Linear(2, 2), middle

    def forward(self, x):
        return (self.middle(self.fc(x)) ** 2).sum(1)


def cause(middle: Callable[..., Any], fn: Callable[..., Any] = jnp.round) -> str:
    torch.manual_seed(0)
    module = Model(middle)
    params = {name: p.numpy() for name, p in module.state_dict().items()}

    def port(p, x):
        return (fn(x @ p["fc.weight"].T + p["fc.bias"]) ** 2).sum(1)

    first = prove(module, port, params, (X,)).first
    assert first is not None
    return first.cause


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "middle",
    [
        lambda x: x + (x.round() - x).detach(),
        lambda x: (x.round() - x).detach() + x,
        lambda x: x.round().detach() + (x - x.detach()),
    ],
    ids=["the usual sum", "the other order", "two detaches"],
)
def test_the_formula_names_the_operation_of_the_user(middle):
    """A port that rounds alone is told to write the straight-through sum with `jnp.round`."""
    assert cause(middle).endswith(
        "all gradients agree); write x + lax.stop_gradient(jnp.round(x) - x), "
        "where x is the output of torch's fc (linear)"
    )


def test_a_value_that_jax_names_otherwise_is_y():
    """An operation without a function of the same name in `jax.numpy` is called y."""
    text = cause(lambda x: x + (x.softmax(1) - x).detach(), softmax)
    assert "write x + lax.stop_gradient(y - x), where x is the output of torch's fc" in text
    assert text.endswith("y is the output of torch's softmax")


@pytest.mark.parametrize(
    ("name", "end"),
    [("x", "jnp.round(x) - x)"), ("w", "jnp.round(x) - x), where x is the parameter w")],
)
def test_a_parameter_named_like_the_letter_is_named_once(name, end):
    """A parameter called x is the x of the formula; another one is named after it."""
    module = nn.Module()
    module.register_parameter(name, nn.Parameter(torch.tensor([0.4, 1.7])))
    weight = module.get_parameter(name)
    module.forward = lambda s: (s * (weight + (weight.round() - weight).detach()) ** 2).sum(1)
    params = {name: weight.detach().numpy()}

    first = prove(module, lambda p, s: (s * jnp.round(p[name]) ** 2).sum(1), params, (X,)).first
    assert first is not None and first.cause.endswith(f"write x + lax.stop_gradient({end}")


def test_another_detach_asks_for_a_stop_gradient():
    """A detached factor is not a straight-through estimator, nor is a sum of another value."""
    for middle, fn in (
        (lambda x: x * x.detach(), lambda x: x * x),
        (lambda x: x + x.tanh().detach(), lambda x: x + jnp.tanh(x)),
    ):
        assert "add a stop_gradient at" in cause(middle, fn)


def test_a_function_that_is_called_twice_is_one_operand():
    """torch computes the sigmoid that gets the gradient once with a detach, and once without."""
    text = cause(
        lambda x: (x > 0).to(x.dtype) - x.sigmoid().detach() + x.sigmoid(),
        lambda x: (x > 0).astype(x.dtype),
    )
    assert "torch passes the gradient straight through" in text
    assert (
        "write x + lax.stop_gradient(y - x), where x is the output of torch's sigmoid and y is "
        "the output of torch's to" in text
    )


def test_a_port_without_a_gradient_lacks_no_stop():
    """Without the detach torch has no gradient either, but JAX needs no further stop for that."""
    text = cause(
        lambda x: 3 * (x.tanh() - x.tanh().detach()) + (x > 0).to(x.dtype),
        lambda x: (x > 0).astype(x.dtype),
    )
    assert text == "the JAX function ignores the leaf"


def softmax(x):
    return jnp.exp(x) / jnp.exp(x).sum(1, keepdims=True)
