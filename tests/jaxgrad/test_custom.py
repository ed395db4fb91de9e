"""`reverse_gradient` and `straight_through` match torch; `from_function` checks its arguments."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad
from jaxgrad.parity.interop import to_jax, to_torch
from tests import _helpers
from tests.jaxgrad._core.functions import power


V, W, K = np.array([0.5, 1.5, -2.0]), np.array([3.0, -1.0, 0.25]), np.array([2, 0, 1])
DTYPES = ("float64", "float32")
same = functools.partial(_helpers.same, absolute=True)


def eager(fun: Any, **_: Any) -> Any:
    return fun


def test_keyword_arguments():
    """Arguments may be passed by name, but keyword-only arguments of `forward` are refused."""
    function = jaxgrad.from_function(power(jnp, object))
    np.testing.assert_array_equal(
        function(to_jax(V), n=3, shift=0.5, how="minus"), function(to_jax(V), 3, "minus", 0.5)
    )
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        function(to_jax(V))

    class Keyword:
        @staticmethod
        def forward(ctx, x, *, k):
            return x * k

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(TypeError, match=r"Keyword.forward\(\) got keyword-only arguments \['k'\]"):
        jaxgrad.from_function(Keyword)(to_jax(V), k=2.0)


def test_apply_decorator_and_name():
    """`F.apply(x)` works, and `from_function` can be used as a decorator."""

    @jaxgrad.from_function
    class Square:
        """Its own docstring."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 7.0 * grad * ctx.saved_tensors[0]

    assert (Square.__name__, Square.__doc__) == ("Square", "Its own docstring.")
    np.testing.assert_array_equal(jax.grad(lambda x: Square(x).sum())(to_jax(V)), 7.0 * V)
    np.testing.assert_array_equal(jax.grad(lambda x: Square.apply(x).sum())(to_jax(V)), 7.0 * V)


class TorchReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any) -> Any:
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override] # torch's own idiom
        return -ctx.scale * grad, None


class TorchThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, fun: Any) -> Any:
        return fun(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override] # torch's own idiom
        return grad, None


ESTIMATORS = {
    "reverse": (lambda x: TorchReverse.apply(x, 1.0), jaxgrad.reverse_gradient),
    "reverse, scaled": (
        lambda x: TorchReverse.apply(x, 0.3),
        lambda x: jaxgrad.reverse_gradient(x, 0.3),
    ),
    "round": (lambda x: TorchThrough.apply(x, torch.round), jaxgrad.straight_through(jnp.round)),
    "step": (
        lambda x: TorchThrough.apply(x, lambda x: (x > 0).to(x.dtype)),
        jaxgrad.straight_through(lambda x: (x > 0).astype(x.dtype)),
    ),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("name", "dtype"), list(itertools.product(ESTIMATORS, DTYPES)))
def test_estimators(name, dtype):
    """Both estimators match torch in value and two derivatives, under every transformation."""
    torch_fun, jax_fun = ESTIMATORS[name]
    x = to_torch(V.astype(dtype)).requires_grad_()
    value = (torch_fun(x * x) ** 2 * x).sum()
    (first,) = torch.autograd.grad(value, x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x)

    def loss(x):
        return (jax_fun(x * x) ** 2 * x).sum()

    def looped(x):
        return lax.scan(lambda c, _: (jax_fun(c * c) ** 2 * c, None), x, None, length=1)[0].sum()

    def mapped(x):
        return jax.vmap(loss)(x[:, None]).sum()

    def branched(x):
        return lax.cond(x.sum() > -100, loss, lambda x: x.sum(), x)

    for fun in (loss, jax.jit(loss), looped, jax.checkpoint(loss), mapped, branched):
        grad = jax.grad(fun)
        again = jax.grad(lambda x, grad=grad: (grad(x) ** 2).sum())
        args = to_jax(V.astype(dtype))
        same((value, first, second), (fun(args), grad(args), again(args)))
        same((value, first, second), (fun(args), jax.jit(grad)(args), jax.jit(again)(args)))
        same(jax.jacrev(grad)(args), jax.jacfwd(grad)(args))


def test_second_derivatives_of_the_catalogue():
    """P165 and P166: the second derivatives of both estimators are 2."""
    second = jax.grad(jax.grad(lambda x: jaxgrad.reverse_gradient(x) ** 2))(1.0)
    assert float(second) == 2.0
    second = jax.grad(jax.grad(lambda x: jaxgrad.straight_through(jnp.round)(x) ** 2))(2.6)
    assert float(second) == 2.0


def test_estimators_keep_every_bit():
    """The estimators return `fun`'s bits, where `x + stop_gradient(fun(x) - x)` would round."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=1000) * 1e3, "float32")
    out = jax.jit(jaxgrad.straight_through(lambda x: jnp.round(x * 10.0) / 10.0))(x)
    assert out.tobytes() == jax.jit(lambda x: jnp.round(x * 10.0) / 10.0)(x).tobytes()
    assert jaxgrad.reverse_gradient(x, 3.0).tobytes() == x.tobytes()


def test_estimators_of_trees_and_other_arguments():
    """Trees are supported; integers pass, and scales and further arguments get no gradient."""

    def loss(p):
        t = jaxgrad.reverse_gradient({"a": p["a"], "k": jnp.array(3)}, p["scale"])
        q = jaxgrad.straight_through(lambda x, s, *, shift: jnp.floor(x / s) * s + shift)
        return (q(t["a"], p["step"], shift=p["shift"]) * t["k"]).sum()

    p = {"a": to_jax(V), "scale": jnp.array(0.5), "step": jnp.array(0.4), "shift": jnp.array(0.1)}
    grads = jaxgrad.value_and_grad(loss)(p)[1]
    np.testing.assert_array_equal(grads.pop("a"), np.full(3, -1.5))
    assert grads == {"scale": None, "step": None, "shift": None}


def test_a_constant_leaf_has_a_zero_tangent():
    """An undifferentiated leaf of a reversed tree keeps a zero tangent."""
    tree = jax.jvp(
        lambda a: jaxgrad.reverse_gradient({"a": a, "b": jnp.ones(2)}), (to_jax(V),), (to_jax(W),)
    )
    same((V, np.ones(2)), (tree[0]["a"], tree[0]["b"]))
    same((-W, np.zeros(2)), (tree[1]["a"], tree[1]["b"]))


def test_straight_through_of_a_function_without_derivative():
    """`fun` is never differentiated, so that it may be a host callback."""

    def quantize(x, *, step):
        def on_host(x, step):
            return (np.round(np.asarray(x) / np.asarray(step)) * np.asarray(step)).astype(x.dtype)

        return jax.pure_callback(on_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, step)

    def loss(x, s, wrap):
        return wrap(lambda x, s: jaxgrad.straight_through(quantize)(x, step=s).sum())(x, s)

    def positional(x, s):
        return jaxgrad.straight_through(lambda x, s: quantize(x, step=s))(x, s).sum()

    for wrap in (eager, jax.jit):
        for argnums in (0, 1):
            grad = jax.grad(loss, argnums)(to_jax(V), jnp.array(0.4), wrap)
            np.testing.assert_array_equal(grad, np.ones(3) if argnums == 0 else 0.0)
            grad = jax.grad(wrap(positional), argnums)(to_jax(V), jnp.array(0.4))
            np.testing.assert_array_equal(grad, np.ones(3) if argnums == 0 else 0.0)


def test_straight_through_needs_a_result_like_its_argument():
    """A result whose type differs from the first argument's raises an error with both types."""
    words = re.escape(
        "straight_through(<lambda>) passes its cotangent on to its first argument, so"
    )
    with pytest.raises(TypeError, match=words + r".*got float64\[3\], returned bool\[3\]"):
        jaxgrad.straight_through(lambda x: x > 0)(to_jax(V))
    with pytest.raises(TypeError, match=words + r".*got float64\[3\], returned float64\[\]"):
        jaxgrad.straight_through(lambda x: x.sum())(to_jax(V))
