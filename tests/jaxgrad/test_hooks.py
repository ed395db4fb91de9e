"""`jaxgrad.hook` against torch: the cotangents it receives and the replacements it accepts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import jaxgrad
from jaxgrad.parity.interop import to_jax, to_torch
from tests._helpers import same


V, W, K = np.array([0.5, 1.5, -2.0]), np.array([3.0, -1.0, 0.25]), np.array([2, 0, 1])
DTYPES = ("float64", "float32")


def clamp(g: Any) -> Any:
    return g.clip(-1.0, 1.0)


HOOKS = {
    "watch": lambda g: None,
    "clamp": clamp,
    "negate": lambda g: -g,
    "square": lambda g: g * g,
    "constant": lambda g: g * 0.0 + 1.0,
    "mean": lambda g: g - g.mean(),
}


def eager(fun: Any, **_: Any) -> Any:
    return fun


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", HOOKS)
def test_first_and_second_derivative(name, dtype):
    """A hook receives the cotangent summed over all uses, and again in the second derivative."""
    x = to_torch(V.astype(dtype)).requires_grad_()
    y = x * x
    y.register_hook(HOOKS[name])
    (first,) = torch.autograd.grad((y**3 + y * 2.0).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x)

    def loss(x):
        y = jaxgrad.hook(x * x, HOOKS[name])
        return (y**3 + y * 2.0).sum()

    for mode in (eager, jax.jit):
        grad = mode(jax.grad(mode(loss)))
        again = mode(jax.grad(lambda x, grad=grad: (grad(x) ** 2).sum()))
        same((first, second), (grad(to_jax(V.astype(dtype))), again(to_jax(V.astype(dtype)))))


def test_third_derivative():
    """The third derivative through a hook equals torch's."""
    x = to_torch(V).requires_grad_()
    y = x * x
    y.register_hook(lambda g: g * g)
    (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)

    def loss(x):
        return (jaxgrad.hook(x * x, lambda g: g * g) ** 3).sum()

    def total(fun):
        return lambda x: jax.grad(fun)(x).sum()

    same(third, jax.grad(total(total(loss)))(to_jax(V)))


def test_two_hooks_are_called_in_torchs_order():
    """If hooks are nested, the outermost is called first, like torch's first registered hook."""
    x = to_torch(V).requires_grad_()
    y = x * 2.0
    y.register_hook(lambda g: g + 1.0)
    y.register_hook(lambda g: g * 10.0)
    y.sum().backward()

    def loss(x):
        y = jaxgrad.hook(x * 2.0, lambda g: g * 10.0)
        return jaxgrad.hook(y, lambda g: g + 1.0).sum()

    same(x.grad, jax.grad(loss)(to_jax(V)))


def test_the_hook_of_an_unused_value_is_not_called():
    """As in torch, the hook of a value that the loss does not use is not called."""
    x = to_torch(V).requires_grad_()
    (x * x).register_hook(torch.ones_like)
    (x * 3.0).sum().backward()

    def loss(x):
        jaxgrad.hook(x * x, jnp.ones_like)
        return (x * 3.0).sum()

    same(x.grad, jax.grad(loss)(to_jax(V)))
    same(x.grad, jax.jit(jax.grad(jax.jit(loss)))(to_jax(V)))


def test_captured_values_are_differentiated():
    """A hook may capture any value, and a second derivative reaches the captured value."""

    def torch_side():
        x = to_torch(V).requires_grad_()
        y = x * x
        y.register_hook(lambda g: g * x)
        (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        return first, torch.autograd.grad(first.sum(), x)[0]

    def loss(x):
        return (jaxgrad.hook(x * x, lambda g: g * x) ** 3).sum()

    def both(x):
        return jax.grad(loss)(x), jax.grad(lambda x: jax.grad(jax.jit(loss))(x).sum())(x)

    same(torch_side(), both(to_jax(V)))
    same(torch_side(), jax.jit(both)(to_jax(V)))


def test_a_tree_is_hooked_at_once():
    """`fn` receives a tree of cotangents with None for integers; returning None keeps a leaf."""
    seen = []

    def fn(g):
        seen.append(jax.tree.structure(g, is_leaf=lambda x: x is None))
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return {"a": g["a"] / norm, "b": None, "k": g["k"]}

    def loss(a, b):
        t = jaxgrad.hook({"a": a, "b": b, "k": jnp.array([1, 2])}, fn)
        return (t["a"] * 3.0 + t["b"] * 4.0).sum() + t["k"].sum()

    a, b = jax.grad(loss, (0, 1))(jnp.float64(1.0), jnp.float64(2.0))
    assert float(a) == 3.0 / 5.0 and float(b) == 4.0
    assert seen == [jax.tree.structure({"a": 0, "b": 0, "k": None}, is_leaf=lambda x: x is None)]


def test_no_cotangent_arrives():
    """A hook is not called if a custom rule returns None for its value's cotangent."""

    class Stops(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, grad):  # type: ignore[override] # torch's own idiom
            return None

    @jax.custom_vjp
    def stops(x):
        return x * 1.0

    stops.defvjp(lambda x: (x, None), lambda _, g: (None,))
    x = to_torch(V).requires_grad_()
    y = x * x
    y.register_hook(lambda g: g + 1.0 if g is not None else None)
    (Stops.apply(y) + x).sum().backward()
    grad = jax.grad(lambda x: (stops(jaxgrad.hook(x * x, lambda g: g + 1.0)) + x).sum())
    same(x.grad, grad(to_jax(V)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", (*DTYPES, "bfloat16"))
def test_watching_changes_no_bit(dtype):
    """A hook that returns None leaves the value and all gradients bit-identical."""
    rng = np.random.default_rng(0)
    x, w = (jnp.asarray(rng.normal(size=s), dtype) for s in ((5, 7), (7, 3)))

    def loss(x, w, hook):
        y = hook(jnp.tanh(x @ w))
        z = hook((y * y, y * 0.3, -0.0 * y))
        return sum(jnp.sum(leaf) for leaf in z)

    for mode in (eager, jax.jit):
        run = mode(jax.value_and_grad(loss, (0, 1)), static_argnums=2)
        plain = run(x, w, lambda y: y)
        hooked = run(x, w, lambda y: jaxgrad.hook(y, lambda g: None))
        for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(hooked), strict=True):
            assert a.tobytes() == b.tobytes() and a.dtype == b.dtype


def test_a_watching_hook_costs_nothing():
    """A hook that returns None adds no FLOPs or bytes to the compiled gradient."""

    def cost(hook):
        grad = jax.grad(lambda x: (jnp.sin(hook(x * x)) ** 2).sum())
        analysis = jax.jit(grad).lower(jnp.ones(1000)).compile().cost_analysis()
        assert analysis
        return {key: analysis[key] for key in ("flops", "bytes accessed", "transcendentals")}

    plain = cost(lambda y: y)
    assert cost(lambda y: jaxgrad.hook(y, lambda g: None)) == plain
    assert cost(jaxgrad.backward_hook(lambda y: y, lambda gi, go: None)) == plain


def test_weak_types_stay_weak():
    """A hooked Python scalar keeps its weak type, so promotion does not change."""
    assert jaxgrad.hook(jnp.asarray(2.0), lambda g: None).weak_type
    out = jax.grad(lambda x: jaxgrad.hook(x, lambda g: g * 2.0) * jnp.float32(3.0))(1.0)
    assert float(out) == 6.0


def torch_error(answer) -> str:
    x = to_torch(V).requires_grad_()
    y = x * 2.0
    y.register_hook(answer)
    with pytest.raises((RuntimeError, TypeError)) as raised:
        y.sum().backward()
    return str(raised.value)


@pytest.mark.parametrize(
    "torch_s, jax_s, kind, words, detail",
    (
        (
            lambda g: g[:1],
            lambda g: g[:1],
            ValueError,
            "has changed the size of value",
            "the cotangent is float64[3], the replacement float64[1]; return None",
        ),
        (
            lambda g: g.sum(),
            lambda g: g.sum(),
            ValueError,
            "has changed the size of value",
            "the cotangent is float64[3], the replacement float64[]",
        ),
        (
            lambda g: g.float(),
            lambda g: g.astype("float32"),
            TypeError,
            "has changed the type of value",
            "the cotangent is float64[3], the replacement float32[3]; return None",
        ),
        (
            lambda g: g.long(),
            lambda g: g.astype(int),
            TypeError,
            "has changed the type of value",
            "the cotangent is float64[3], the replacement int64[3]",
        ),
        (lambda g: 3.0, lambda g: 3.0, TypeError, "returned", "return None or an array"),
        (lambda g: (g,), lambda g: (g,), TypeError, "returned", "return None or an array"),
    ),
    ids=("shorter", "scalar", "narrower", "integer", "number", "tuple"),
)
def test_wrong_replacements(torch_s, jax_s, kind, words, detail):
    """A replacement of wrong shape or dtype raises torch's message when the hook is set."""
    assert words in torch_error(torch_s)
    jax_s.__name__ = "mine"
    with pytest.raises(kind, match=f"hook 'mine'.*{words}") as raised:
        jaxgrad.hook(to_jax(V), jax_s)
    assert detail in str(raised.value)


def test_wrong_structure_of_a_replacement():
    """A replacement whose tree structure differs from the value's raises TypeError."""
    with pytest.raises(
        TypeError, match="'<lambda>' should return None or cotangents in the struct"
    ):
        jaxgrad.hook({"a": to_jax(V)}, lambda g: g["a"])


def test_a_value_that_has_no_gradient_is_refused():
    """Hooking an integer array raises an error with torch's message."""
    words = "cannot register a hook on a (tensor|value) that"
    with pytest.raises(RuntimeError, match=words):
        torch.tensor([1, 2]).register_hook(lambda g: g)
    with pytest.raises(TypeError, match=words + r" has no gradient: hook got int64\[2\]; pass a"):
        jaxgrad.hook(jnp.array([1, 2]), lambda g: g)
