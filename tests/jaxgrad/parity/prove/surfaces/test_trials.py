"""Each kind of trial is a change of torch's calls that gives what the port computes."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import torch
from torch import nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.report import Finding
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Net(nn.Module):
    """Two layers with a function of the user's between them."""

    def __init__(self, between: Callable[[Any, Any], Any]):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2)
        self.between = between

    def forward(self, x):
        return self.b(self.between(self, x))


def linear(p: Any, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def norm(p: Any, x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    normal = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return normal * p["norm.weight"] + p["norm.bias"]


def proved(between: Callable[[Any, Any], Any], port: Callable[[Any, Any], Any]) -> Report:
    torch.manual_seed(0)
    module = Net(between)
    return prove(module, lambda p, x: linear(p, "b", port(p, x)), arrays(module), (draw(5, 4),))


def first(between: Callable[[Any, Any], Any], port: Callable[[Any, Any], Any]) -> Finding:
    finding = proved(between, port).first
    assert finding is not None
    return finding


def residual(m: Any, x: Any) -> Any:
    return x + torch.tanh(m.a(m.norm(x)))


def test_a_call_that_reads_another_value_is_named_with_both_values():
    """A residual connection that adds the normalised input is named as such."""

    def port(p: Any, x: Any, skip: bool = True) -> Any:
        h = norm(p, x)
        return (x if skip else h) + jnp.tanh(linear(p, "a", h))

    proved(residual, port).check()
    wrong = first(residual, lambda p, x: port(p, x, skip=False))

    assert wrong.op == "add"
    assert wrong.cause == (
        "JAX's add reads the result of norm (layer_norm), torch's reads input 0 (rerunning torch "
        "with this change reproduces JAX's outputs)"
    )


def normed(m: Any, x: Any) -> Any:
    return torch.relu(m.norm(m.a(x)))


def test_two_calls_in_the_other_order_are_named():
    """An activation before the norm is named instead of a missing norm."""
    proved(normed, lambda p, x: jax.nn.relu(norm(p, linear(p, "a", x)))).check()
    wrong = first(normed, lambda p, x: norm(p, jax.nn.relu(linear(p, "a", x))))

    assert (wrong.torch, wrong.op) == ("norm", "layer_norm")
    assert wrong.cause.startswith("relu comes before layer_norm, torch calls layer_norm first (")


def test_two_calls_in_the_other_order_in_every_block_are_named():
    """The order is changed in all blocks if the change of one does not give JAX's outputs."""

    def twice(m: Any, x: Any) -> Any:
        for _ in range(2):
            x = torch.tanh(m.norm(m.a(x)))
        return x

    def port(p: Any, x: Any) -> Any:
        for _ in range(2):
            x = norm(p, jnp.tanh(linear(p, "a", x)))
        return x

    assert first(twice, port).cause.startswith("tanh comes before layer_norm, torch calls layer_n")


def clamped(m: Any, x: Any) -> Any:
    return torch.clamp(m.a(x), -0.5, 0.2)


def test_the_bounds_of_a_clamp_are_named():
    """Bounds with other numbers or signs, which only the JAX program contains, are named."""
    proved(clamped, lambda p, x: jnp.clip(linear(p, "a", x), -0.5, 0.2)).check()
    for low, high in ((-0.2, 0.5), (-0.3, 0.7)):
        wrong = first(clamped, lambda p, x, b=(low, high): jnp.clip(linear(p, "a", x), *b))

        assert wrong.op == "clamp"
        assert wrong.cause.startswith(
            f"clamp has the minimum {low:g} and the maximum {high:g}, torch's has the minimum -0.5 "
            "and the maximum 0.2 ("
        )


def test_a_bound_on_the_other_side_is_named():
    """A minimum in place of a maximum is named."""
    wrong = first(
        lambda m, x: m.a(x).clamp(min=0.1), lambda p, x: jnp.minimum(linear(p, "a", x), 0.1)
    )

    assert wrong.cause.startswith("clamp has the maximum 0.1, torch's has the minimum 0.1 (")


def test_a_number_that_only_the_jax_program_contains_is_tried():
    """A factor of 0.37 where torch has 0.25 is named, although 0.37 is in no list."""
    wrong = first(
        lambda m, x: torch.tanh(m.a(x)) ** 2 * 0.25 + x,
        lambda p, x: jnp.tanh(linear(p, "a", x)) ** 2 * 0.37 + x,
    )

    assert wrong.cause.startswith("the number in mul is 0.37, torch uses 0.25 (rerunning torch")


def test_a_repeated_weight_is_not_where_a_difference_begins():
    """A start token that torch expands and JAX maps over is not blamed for a later mistake."""
    wrong = first(
        lambda m, x: torch.sin(m.a(m.norm.bias.expand(len(x), -1) + 1 + x)),
        lambda p, x: jnp.cos(linear(p, "a", p["norm.bias"] + 1 + x)),
    )

    assert wrong.op == "sin"
