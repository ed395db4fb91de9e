"""Mistakes in a ported class raise torch's errors."""

# ruff: noqa: N803  # Base is a class

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import jaxgrad
from jaxgrad.parity.interop import to_jax, to_torch
from tests.jaxgrad._core.functions import (
    V,
    W,
    eager,
    jax_side,
    product,
    returns,
    same,
    torch_side,
    total,
)


COUNT = "ReturnsBackward returned an incorrect number of gradients"
SHAPE = "ReturnsBackward returned an invalid gradient at index 0"


@pytest.mark.parametrize(
    "answer, args, kind, words",
    (
        (
            lambda xp, g: g,
            [V, W],
            ValueError,
            f"function {COUNT} (expected 2, got 1)",
        ),
        (
            lambda xp, g: (g, g),
            [V],
            ValueError,
            f"function {COUNT} (expected 1, got 2)",
        ),
        (
            lambda xp, g: [g, g],
            [V, W],
            ValueError,
            f"function {COUNT} (expected 2, got 1)",
        ),
        (
            lambda xp, g: (g, g),
            [V, 3],
            ValueError,
            "function ReturnsBackward returned a gradient different than None at position 2, but "
            "the corresponding forward input was not a",
        ),
        (
            lambda xp, g: g[:2],
            [V],
            ValueError,
            f"Function {SHAPE} - got [2] but expected shape compatible with [3]",
        ),
        (
            lambda xp, g: g.sum(),
            [V],
            ValueError,
            f"Function {SHAPE} - got [] but expected shape compatible with [3]",
        ),
        (lambda xp, g: 2.0, [V], TypeError, "or None (got float)"),
    ),
    ids=("few", "many", "list", "static", "short", "scalar", "number"),
)
def test_wrong_gradients(answer, args, kind, words):
    """Gradients wrong in number, shape or type raise torch's message when the class is called."""
    x = to_torch(args[0]).requires_grad_()
    function = returns(answer)(torch, torch.autograd.Function)
    with pytest.raises(RuntimeError, match=re.escape(words)):
        function.apply(x, *map(to_torch, args[1:])).sum().backward()
    with pytest.raises(kind, match=re.escape(words)):
        jaxgrad.from_function(returns(answer)(jnp, object))(*map(to_jax, args))


def test_more_nones_than_inputs():
    """Surplus Nones returned by `backward` are ignored, as in torch."""
    maker = returns(lambda xp, grad: (grad, None, None))
    args = [V], [0], total, False
    same(torch_side(maker, *args), jax_side(maker, *args, eager))


def test_a_complex_gradient_of_a_real_input_is_refused():
    """A complex gradient for a real input raises an error that names both dtypes."""
    maker = returns(lambda xp, grad: grad * (1.0 + 2.0j))
    with pytest.raises(RuntimeError):
        torch_side(maker, [V], [0], total, False)
    with pytest.raises(
        TypeError, match="got complex128 for an input of float64; take its real part"
    ):
        jaxgrad.from_function(maker(jnp, object))(to_jax(V))


def test_saving_a_non_array():
    """Saving a non-array for backward raises torch's message and names the alternative."""

    def make(xp, Base):
        class Saves(Base):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x, 3)
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad

        return Saves

    x = to_torch(V).requires_grad_()
    with pytest.raises(TypeError, match="but argument 1 is of type int"):
        make(torch, torch.autograd.Function).apply(x)
    with pytest.raises(
        TypeError, match="but argument 1 is of type int; make it an attribute of ctx"
    ):
        jaxgrad.from_function(make(jnp, object))(to_jax(V))


def test_attributes_that_were_never_set():
    """Reading an attribute of `ctx` that was never set raises an AttributeError naming it."""

    class Missing:
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.nothing

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        jaxgrad.from_function(Missing)(to_jax(V))


class ForwardOnly:
    @staticmethod
    def forward(ctx, x):
        return x * 2.0


def test_without_backward():
    """A class without `backward` can be called; differentiating it raises torch's error."""
    function = jaxgrad.from_function(ForwardOnly)
    np.testing.assert_array_equal(function(to_jax(V)), 2.0 * V)
    words = "You must implement .*backward.* vjp .* to use it with backward mode AD"
    x = to_torch(V).requires_grad_()
    base = type("ForwardOnly", (torch.autograd.Function,), {"forward": ForwardOnly.forward})
    with pytest.raises(NotImplementedError, match=words):
        base.apply(x).sum().backward()
    with pytest.raises(NotImplementedError, match=words.replace("vjp .*", "vjp in ForwardOnly")):
        jax.grad(lambda x: function(x).sum())(to_jax(V))


def test_forward_mode_without_jvp():
    """Forward mode of a class without `jvp` raises torch's error."""
    function = jaxgrad.from_function(product(jnp, object))
    words = "You must implement jvp in Product to use it with forward mode AD"
    for mode in (eager, jax.jit):
        with pytest.raises(NotImplementedError, match=words):
            jax.jvp(mode(lambda x: function(x, x)), (to_jax(V),), (to_jax(V),))
