"""The figure of a value with two uses is drawn from a run of both frameworks."""

import jax
import jax.numpy as jnp
import torch

from parity_tests.site import chain_figure, fan_out
from tests.parity_tests.figures.reading import words


def test_the_figures_are_current():
    """Both variants are what a run draws now."""
    for name, svg in fan_out.figures().items():
        assert (chain_figure.FOLDER / name).read_text() == svg, "run: make pages"


def test_the_gradient_is_the_sum_over_the_uses():
    """Both frameworks add 2h and 1; the figure shows both terms and the sum in each program."""
    run = fan_out.record()
    h = torch.tensor(run.h, requires_grad=True)
    (grad,) = torch.autograd.grad(h**2 + h, h)
    shown = words(fan_out.figures()["fan_out.svg"])

    assert run.torch_grad == run.jax_grad == grad.item() == sum(run.uses)
    assert run.uses == (2 * run.h, 1.0) and shown.count(f"× {run.uses[0]:.4g} (2h)") == 2
    for value in (grad.item(), *run.uses):
        assert shown.count(f"{value:.4g}") >= 2, "once for torch and once for JAX"


def test_a_use_becomes_an_addition_in_the_vjp():
    """The VJP of two uses has one more equation than that of one use: the addition."""
    run = fan_out.record()
    one_use = jax.make_jaxpr(jax.vjp(lambda h: h**2, jnp.float32(run.h))[1])(jnp.float32(1))

    assert run.primitives == (*(eqn.primitive.name for eqn in one_use.eqns), "add_any")
    assert run.nodes == ("AddBackward0", "PowBackward0")
    for svg in fan_out.figures().values():  # a phone shows the same names
        assert {*run.nodes, *run.primitives} <= set(words(svg))
