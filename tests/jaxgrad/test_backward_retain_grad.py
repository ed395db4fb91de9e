"""`retain_grad` returns the gradients of intermediate values, as torch's does."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad
from tests._helpers import close_or_none


X, Y, N = [0.5, 1.5, -2.0], [3.0, -1.0, 0.25], [1, 2, 0]


def test_retained_against_torch() -> None:
    """Retained gradients equal torch's `.grad` of intermediates, summed over all uses."""
    w, x = (
        torch.tensor(X, dtype=torch.float64, requires_grad=True),
        torch.tensor(Y, dtype=torch.float64),
    )
    h = w * x
    h.retain_grad()
    a = h.exp()
    a.retain_grad()
    unused = w * 3
    unused.retain_grad()
    ((a + h * 2) * h.detach()).sum().backward()

    def loss(w: Any) -> Any:
        h = jaxgrad.retain_grad(w * jnp.array(Y), "h")
        a = jaxgrad.retain_grad(jnp.exp(h), "a")
        jaxgrad.retain_grad(w * 3, "unused")
        jaxgrad.retain_grad(lax.stop_gradient(h), "detached")
        return ((a + h * 2) * lax.stop_gradient(h)).sum()

    for run in (
        jaxgrad.value_and_retained_grads(loss),
        jax.jit(jaxgrad.value_and_retained_grads(loss)),
    ):
        _, grads, retained = run(jnp.array(X))
        close_or_none(grads, w.grad)
        close_or_none(retained["h"], h.grad)
        close_or_none(retained["a"], a.grad)
        assert unused.grad is None
        assert retained["unused"] is None
        assert retained["detached"] is None


@jax.custom_jvp
def smooth(x):
    return 2 * x


smooth.defjvps(lambda t, ans, x: 3 * t)


def tagged_sin(x: Any) -> Any:
    return jaxgrad.retain_grad(jnp.sin(x), "s") * 2


def along(f: Any, **options: Any) -> Any:
    return lambda x: lax.scan(lambda c, a: (c, f(a)), 0, x, **options)[1]


INSIDE = {
    "nothing": (lambda f: f, (2, 3)),
    "jit": (jax.jit, (2, 3)),
    "remat": (jax.checkpoint, (2, 3)),
    "jit of remat of jit": (lambda f: jax.jit(jax.checkpoint(jax.jit(f))), (2, 3)),
    "vmap": (jax.vmap, (2, 3)),
    "vmap of columns": (lambda f: jax.vmap(f, in_axes=1, out_axes=1), (3, 2)),
    "vmap of vmap": (lambda f: jax.vmap(jax.vmap(f)), (2, 3)),
    "scan": (along, (2, 3)),
    "scan of scan": (lambda f: along(along(f)), (2, 3)),
    "reverse scan": (lambda f: along(f, reverse=True), (2, 3)),
    "vmap of scan": (lambda f: jax.vmap(along(f), in_axes=1, out_axes=1), (2, 3)),
    "remat of scan of remat": (lambda f: jax.checkpoint(along(jax.checkpoint(f))), (2, 3)),
    "cond": (lambda f: lambda x: lax.cond(x[0, 0] > 0, f, lambda x: x, x), (2, 3)),
    "both branches": (
        lambda f: lambda x: lax.cond(x[0, 0] > 0, f, lambda x: tagged_sin(x) * 1, x),
        (2, 3),
    ),
    "cond in scan": (
        lambda f: along(lambda a: lax.cond(a[0] > -9, f, lambda a: a, a)),
        (2, 3),
    ),
    "a custom rule": (lambda f: lambda x: smooth(f(x)), (2, 3)),
    "an inner gradient": (
        lambda f: lambda x: jax.value_and_grad(lambda x: f(x).sum())(x)[0],
        (2, 3),
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("wrap", "shape"), INSIDE.values(), ids=INSIDE)
def test_retained_inside(wrap: Any, shape: tuple[int, ...]) -> None:
    """Gradients retained in scan, vmap, cond, remat or jit are stacked, and no result changes."""
    x = jnp.linspace(0.1, 2.0, 6, dtype=jnp.float64).reshape(2, 3)
    loss = lambda x: (wrap(tagged_sin)(x) ** 2).sum()  # noqa: E731 # the program
    value, grads, retained = jaxgrad.value_and_retained_grads(loss)(x)
    plain_value, plain = jaxgrad.value_and_grad(loss)(x)
    assert value.tobytes() == plain_value.tobytes()
    assert grads.tobytes() == plain.tobytes()
    assert retained["s"].shape == shape
    inside = grads / jnp.cos(x)  # each element of x goes through one sine
    np.testing.assert_allclose(retained["s"].sum(), inside.sum(), rtol=1e-12)


def test_retained_order_in_scan() -> None:
    """Entry i of a stacked gradient belongs to element i of the scanned array, even in reverse."""
    for reverse in (False, True):

        def loss(x: Any, reverse: bool = reverse) -> Any:
            def body(c: Any, a: Any) -> Any:
                h = jaxgrad.retain_grad(c * a, "h")
                return h, h * a

            return lax.scan(body, 1.0, x, reverse=reverse)[1].sum()

        xs = [2.0, 3.0, 5.0]
        _, _, retained = jaxgrad.value_and_retained_grads(loss)(jnp.array(xs))
        carry, kept = torch.ones((), dtype=torch.float64, requires_grad=True), {}
        total = torch.zeros((), dtype=torch.float64)
        for i in reversed(range(3)) if reverse else range(3):
            carry = kept[i] = carry * xs[i]
            carry.retain_grad()
            total = total + carry * xs[i]
        total.backward()
        close_or_none(retained["h"], [float(kept[i].grad) for i in range(3)])


def test_retained_under_transformations() -> None:
    """`value_and_retained_grads` itself can be vmapped, jitted and differentiated."""
    run = jaxgrad.value_and_retained_grads(lambda x: jaxgrad.retain_grad(x**2, "h") ** 2)
    _, _, retained = jax.jit(jax.vmap(run))(jnp.array([1.0, 2.0]))
    close_or_none(retained["h"], [2.0, 8.0])
    assert float(jax.grad(lambda x: run(x)[2]["h"])(3.0)) == 12.0  # d (2 x^2) / dx
    assert float(jaxgrad.grad(lambda x: run(x)[1])(2.0)) == 48.0  # d (4 x^3) / dx
    (value, aux), grads, _ = jaxgrad.value_and_retained_grads(
        lambda x, y: (jaxgrad.retain_grad(x * y, "h"), {"y": y}), argnums=(0, 1), has_aux=True
    )(2.0, 3.0)
    assert (float(value), float(aux["y"]), *map(float, grads)) == (6.0, 3.0, 3.0, 2.0)


POLICIES = {
    "none": None,
    "everything": jax.checkpoint_policies.everything_saveable,
    "dots": jax.checkpoint_policies.dots_saveable,
    "all names but one": jax.checkpoint_policies.save_any_names_but_these("big"),
    "one name": jax.checkpoint_policies.save_only_these_names("small"),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_tags_disturb_no_policy(policy: Any) -> None:
    """A tag inside remat does not change the values that a checkpoint policy saves."""

    def body(x: Any, tag: Any) -> Any:
        return jnp.sin(tag(jnp.sin(x), "s")) * 2

    def kept(tag: Any) -> int:
        f = jax.checkpoint(lambda x: body(x, tag), policy=policy)
        return jaxgrad.saved_bytes(lambda x: f(x).sum(), jnp.ones(10))

    if policy is not jax.checkpoint_policies.everything_saveable:
        assert kept(jaxgrad.retain_grad) == kept(lambda x, name: x)
    x = jnp.ones(10)
    f = jax.checkpoint(lambda x: body(x, jaxgrad.retain_grad), policy=policy)
    _, grads, retained = jaxgrad.value_and_retained_grads(lambda x: f(x).sum())(x)
    assert grads.tobytes() == jax.grad(lambda x: f(x).sum())(x).tobytes()
    close_or_none(retained["s"], 2 * jnp.cos(jnp.sin(x)))


def python_if(x):
    return jaxgrad.retain_grad(x, "h") if x > 0 else x


def test_retained_errors() -> None:
    """Integer values, repeated names and tags inside custom rules raise errors."""
    with pytest.raises(TypeError, match=r"retain_grad\('n'\): only floating point .* got int64"):
        jaxgrad.retain_grad(jnp.arange(3), "n")
    with pytest.raises(RuntimeError, match="can't retain_grad"):
        torch.arange(3).retain_grad()
    twice = lambda x: jaxgrad.retain_grad(jaxgrad.retain_grad(x, "h"), "h")  # noqa: E731 # a program
    text = r"retain_grad\('h'\) is used twice, at .*test_backward_retain_grad.py:\d+.* at .*give"
    with pytest.raises(ValueError, match=text):
        jaxgrad.value_and_retained_grads(twice)(1.0)
    with pytest.raises(TypeError, match=r"value_and_retained_grads traces python_if, .* lax.cond"):
        jaxgrad.value_and_retained_grads(python_if)(1.0)
    rule = jax.custom_jvp(lambda x: jaxgrad.retain_grad(x, "h"))
    rule.defjvps(lambda t, ans, x: t)
    with pytest.raises(ValueError, match=r"\('h'\) at .* is inside custom_jvp_call, .* outside"):
        jaxgrad.value_and_retained_grads(rule)(1.0)


def test_tags_are_identity_without_a_listener() -> None:
    """A tag is the identity, bit for bit, under every transformation."""
    x = jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3)
    tag = lambda x: jaxgrad.retain_grad(x, "h")  # noqa: E731 # the identity
    for f in (tag, jax.jit(tag), jax.vmap(tag), jax.checkpoint(tag), lambda x: lax.map(tag, x)):
        assert f(x).tobytes() == x.tobytes()
        assert f(x).dtype == x.dtype
        assert jax.grad(lambda x, f=f: f(x).sum())(x).tobytes() == jnp.ones_like(x).tobytes()
    assert jax.jvp(tag, (1.0,), (2.0,))[1] == 2.0
    assert jax.linear_transpose(tag, 1.0)(3.0) == (3.0,)
