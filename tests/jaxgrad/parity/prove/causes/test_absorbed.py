"""A mistake that the outputs do not show is the cause of the gradients that differ."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Round(torch.autograd.Function):
    """Rounds to integers, and passes the gradient straight through."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        del ctx
        return x.round()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        del ctx
        return grads[0]


class Quantised(nn.Module):
    """Layers whose activations are rounded."""

    def __init__(self, layers: int):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(layers)])
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = functional.gelu(layer(x))
        return self.head(Round.apply(x))


@jax.custom_vjp
def rounded(x: Any) -> Any:
    return jnp.round(x)


rounded.defvjp(lambda x: (rounded(x), None), lambda _, grad: (grad,))


def proved(layers: int, approximate: bool, *, factor: float = 1.0) -> Report:
    """Prove a port with a form of GELU, and with a factor of the gradient."""

    @jax.custom_vjp
    def scaled(x: Any) -> Any:
        return x

    scaled.defvjp(lambda x: (x, None), lambda _, grad: (factor * grad,))

    def port(p: Any, x: Any) -> Any:
        for k in range(layers):
            h = x @ p[f"layers.{k}.weight"].T + p[f"layers.{k}.bias"]
            x = jax.nn.gelu(scaled(h), approximate=approximate)
        return rounded(x) @ p["head.weight"].T + p["head.bias"]

    torch.manual_seed(0)
    module = Quantised(layers)
    return prove(module, port, arrays(module), (draw(4, 3),))


@pytest.mark.parametrize(("layers", "calls"), [(1, ""), (2, " in all 2 calls of gelu")])
def test_a_mistake_that_rounding_absorbs_is_named(layers, calls):
    """The outputs agree, and the gradients do with the same mistake in torch."""
    assert proved(layers, False).verdict == "pass"
    report = proved(layers, True)
    first = report.first

    assert report.surfaces["forward"].verdict == "pass"
    assert first is not None and first.tested
    assert first.cause == (
        "GELU is the tanh approximation, torch uses the exact form (rerunning torch with this "
        f"change{calls}, all gradients agree; the outputs do not show the difference)"
    )


def test_a_mistake_that_does_not_explain_the_gradients_is_not_named():
    """The values may differ for another reason."""
    first = proved(1, True, factor=3.0).first
    assert first is not None and not first.tested and "GELU" not in first.cause
