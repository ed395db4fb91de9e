"""A gradient that JAX divides among equal maxima is explained by rerunning torch so."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.causes import tied_maxima
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Rounded(nn.Module):
    """Values on a grid, many of which are equal, with the gradient passed straight through."""

    def __init__(self, reduce: Callable[[Any], Any]):
        super().__init__()
        self.a, self.reduce = nn.Linear(3, 4), reduce

    def forward(self, x):
        h = self.a(x)
        return self.reduce(h + (h.round() - h).detach())


def rounded(
    torchs: Callable[[Any], Any], jaxs: Callable[[Any], Any], reference: str = "torch"
) -> Report:
    torch.manual_seed(0)
    module = Rounded(torchs)

    def apply(p: Any, x: Any) -> Any:
        h = x @ p["a.weight"].T + p["a.bias"]
        return jaxs(h + lax.stop_gradient(jnp.round(h) - h))

    return prove(module, apply, arrays(module), (draw(5, 6, 3),), reference=reference)


def first_max(h: Any) -> Any:
    """Return the maximum over axis 1, with the gradient of its first element alone."""
    return jnp.take_along_axis(h, jnp.argmax(h, 1, keepdims=True), 1)[:, 0]


CASES = [
    (lambda h: h.max(1).values, lambda h: jnp.max(h, 1), "max"),
    (lambda h: torch.min(h, dim=1, keepdim=True)[0], lambda h: jnp.min(h, 1, keepdims=True), "min"),
    (
        lambda h: functional.max_pool2d(h, 2),
        lambda h: h.reshape(5, 3, 2, 2, 2).max((2, 4)),
        "max_pool2d",
    ),
]


@pytest.mark.parametrize(("torchs", "jaxs", "op"), CASES)
def test_ties_are_named(torchs, jaxs, op):
    """torch passes the gradient to one of several equal elements, `jnp.max` divides it."""
    first = rounded(torchs, jaxs).first

    assert first is not None and first.tested and first.surface == "backward"
    assert first.cause == (
        f"torch's {op} has ties: it passes the gradient to one of the equal elements, JAX divides "
        "it among all of them (rerunning torch with the gradient divided, all gradients agree); "
        f"write jaxgrad.functional.{op}"
    )


@pytest.mark.parametrize(("torchs", "jaxs", "op"), CASES)
def test_a_port_to_torch_is_told_which_function_divides_the_gradient(torchs, jaxs, op):
    """`amax` and `amin` divide it; torch has no such max pooling."""
    first = rounded(torchs, jaxs, "jax").first

    remedy = {"max": "; write amax", "min": "; write amin", "max_pool2d": ")"}[op]
    assert first is not None and first.cause.endswith(remedy), first


def test_a_port_that_takes_one_of_the_equal_elements_passes():
    """The negative control: the element at `argmax` gets the whole gradient, as in torch."""
    rounded(lambda h: h.max(1).values, first_max).check()


def test_a_maximum_without_a_dimension_stays_as_it_is():
    """torch itself divides the gradient of a maximum of all elements, or of two tensors."""
    x = torch.tensor([1.0, 1.0], requires_grad=True)
    for args in ((x,), (x, x.detach().flip(0))):
        out = tied_maxima._reduced(torch.max, args, {}, largest=True)
        (grad,) = torch.autograd.grad(out.sum(), x)
        assert grad.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "options", [{"stride": 1}, {"padding": 1}, {"kernel_size": (2, 3)}, {"dilation": 2}]
)
def test_a_pooling_whose_gradient_is_divided_has_the_same_values(options):
    """The stride, the padding and the shape of windows are kept."""
    x, options = torch.tensor(draw(2, 3, 6, 6)), {"kernel_size": 2, **options}
    out = tied_maxima._pooled(functional.max_pool2d, (x,), options, dims=2)

    torch.testing.assert_close(out, functional.max_pool2d(x, **options))
