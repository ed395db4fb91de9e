"""Hooks under `vmap`, `scan`, `cond`, `shard_map`, forward mode and autocast."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad
from jaxgrad.parity.interop import to_jax, to_torch
from tests._helpers import same


V, W, K = np.array([0.5, 1.5, -2.0]), np.array([3.0, -1.0, 0.25]), np.array([2, 0, 1])
DTYPES = ("float64", "float32")


def clamp(g: Any) -> Any:
    return g.clip(-1.0, 1.0)


def eager(fun: Any, **_: Any) -> Any:
    return fun


def per_row(hook):
    def loss(x):
        return (hook(x * x, lambda g: g / (1.0 + jnp.abs(g).sum())) ** 2).sum()

    return loss


ROWS = np.stack([V, W])


def test_vmap_of_grad_and_grad_of_vmap():
    """In `vmap` of `grad` and in `grad` of `vmap`, the hook gets each example's own cotangent."""
    loss = per_row(jaxgrad.hook)
    expected = jnp.stack([jax.grad(loss)(row) for row in to_jax(ROWS)])
    for grad in (
        jax.vmap(jax.grad(loss)),
        jax.grad(lambda rows: jax.vmap(loss)(rows).sum()),
        jax.jit(jax.grad(lambda rows: jax.vmap(jax.checkpoint(loss))(rows).sum())),
        lambda rows: jax.grad(lambda rows: jax.vmap(loss, in_axes=1)(rows).sum())(rows.T).T,
    ):
        np.testing.assert_allclose(grad(to_jax(ROWS)), expected, rtol=1e-14)


def test_vmap_where_only_the_hook_is_mapped():
    """If a hook captures a mapped value, it runs once per example, even for an unmapped input."""

    def loss(x, scale):
        return (jaxgrad.hook(x, lambda g: g * scale) * 3.0).sum()

    scales = jnp.array([1.0, -2.0])
    out = jax.vmap(jax.grad(loss), (None, 0))(to_jax(V), scales)
    np.testing.assert_array_equal(out, np.full((2, 3), 3.0) * scales[:, None])
    total = jax.grad(lambda x: jax.vmap(loss, (None, 0))(x, scales).sum())(to_jax(V))
    np.testing.assert_array_equal(total, np.full(3, -3.0))


def test_unmapped_programs_stay_unmapped():
    """A hooked program that does not use the mapped value stays unmapped under `vmap`."""

    def grad(scale):
        del scale
        return jax.grad(lambda x: jaxgrad.hook(x * x, clamp).sum())(to_jax(V))

    def tangent(scale):
        del scale
        return jax.jvp(lambda x: jaxgrad.hook(x * x, clamp), (to_jax(V),), (to_jax(W),))[1]

    np.testing.assert_array_equal(jax.vmap(grad, out_axes=None)(jnp.ones(2)), 2.0 * V)
    np.testing.assert_array_equal(jax.vmap(tangent, out_axes=None)(jnp.ones(2)), 2.0 * V * W)


def test_a_value_that_is_not_mapped_is_hooked_once():
    """Inside `vmap`, the hook of an unmapped value gets the gradient summed over the batch."""

    def total(x, scales):
        return jax.vmap(lambda s: (jaxgrad.hook(x, clamp) * s).sum())(scales).sum()

    grad = jax.grad(total)(to_jax(V), jnp.array([0.25, 0.5]))
    np.testing.assert_array_equal(grad, np.full(3, 0.75))
    grad = jax.grad(total)(to_jax(V), jnp.array([3.0, -2.5]))
    np.testing.assert_array_equal(grad, np.full(3, 0.5))


@pytest.mark.parametrize("inside", (True, False))
def test_collective_in_a_hook(inside):
    """A hook may run a collective over a named axis, such as a mean of gradients."""

    def loss(x):
        return (jaxgrad.hook(x, lambda g: lax.pmean(g, "rows")) * x).sum()

    if inside:
        out = jax.vmap(jax.grad(loss), axis_name="rows")(to_jax(ROWS))
    else:
        out = jax.grad(lambda rows: jax.vmap(loss, axis_name="rows")(rows).sum())(to_jax(ROWS))
    np.testing.assert_allclose(out, ROWS + ROWS.mean(0), rtol=1e-14)


def test_in_a_scan_at_every_iteration():
    """A hook in a `scan` body clamps at every iteration, like a hook in a Python loop in torch."""
    x = to_torch(V).requires_grad_()
    y = x
    for k in range(1, 4):
        y = y * float(k)
        y.register_hook(clamp)
    (y * 3.0).sum().backward()

    def loss(x, wrap):
        def body(y, k):
            return jaxgrad.hook(y * k, clamp), None

        return (lax.scan(wrap(body), x, jnp.arange(1.0, 4.0))[0] * 3.0).sum()

    for wrap in (eager, jax.checkpoint):
        same(x.grad, jax.grad(loss)(to_jax(V), wrap))
        same(x.grad, jax.jit(jax.grad(loss), static_argnums=1)(to_jax(V), wrap))


def test_in_a_scan_capturing_each_iterations_value():
    """A hook in a `scan` body captures its own iteration's values, in both derivatives."""

    def torch_side():
        x = to_torch(V).requires_grad_()
        y = x
        for k in range(1, 4):
            z = y * float(k)
            z.register_hook(lambda g, y=y: g * y)
            y = z
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return first, torch.autograd.grad(first.sum(), x)[0]

    def loss(x):
        def body(y, k):
            return jaxgrad.hook(y * k, lambda g: g * y), None

        return lax.scan(body, x, jnp.arange(1.0, 4.0))[0].sum()

    first = jax.grad(loss)
    same(torch_side(), (first(to_jax(V)), jax.grad(lambda x: first(x).sum())(to_jax(V))))


def test_in_both_branches_of_a_cond():
    """Only the hook in the taken branch of a `cond` is called."""

    def loss(x):
        return lax.cond(
            x.sum() > 0,
            lambda x: jaxgrad.hook(x, lambda g: g * 10.0).sum(),
            lambda x: jaxgrad.hook(x, lambda g: -g).sum(),
            x,
        )

    np.testing.assert_array_equal(jax.grad(loss)(jnp.ones(2)), [10.0, 10.0])
    np.testing.assert_array_equal(jax.jit(jax.grad(loss))(-jnp.ones(2)), [-1.0, -1.0])


def test_forward_mode_ignores_hooks():
    """Hooks do not change tangents: `jvp`, `jacfwd` and `hessian` work through them."""

    def loss(x):
        return (jaxgrad.hook(x * x, lambda g: -g) ** 2).sum()

    def plain(x):
        return (x**4).sum()

    x = to_jax(V)
    np.testing.assert_allclose(jax.jacfwd(loss)(x), jax.grad(plain)(x), rtol=1e-14)
    np.testing.assert_allclose(jax.hessian(loss)(x), -jax.hessian(plain)(x), rtol=1e-14)
    np.testing.assert_allclose(
        jax.jit(jax.hessian(jax.jit(loss)))(x), -jax.hessian(plain)(x), rtol=1e-14
    )


def test_forward_mode_with_a_constant_input():
    """With one undifferentiated input, tangents equal those of the unhooked function."""
    hooked = jaxgrad.backward_hook(lambda a, b: (a * b, a - b), lambda gi, go: None)
    for mode in (eager, jax.jit):
        out, moved = jax.jvp(mode(lambda a: hooked(a, to_jax(W))), (to_jax(V),), (to_jax(K * 1.0),))
        same((V * W, V - W), out)
        same((K * W, K * 1.0), moved)


def test_under_shard_map():
    """Hooks work in per-device code of `shard_map` and may run collectives."""
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("d")

    def local(x):
        y = jaxgrad.hook(x * 2.0, lambda g: lax.psum(g, "d") + 0.0 * g)
        return jaxgrad.backward_hook(jnp.sin, lambda gi, go: (gi[0] * 3.0,))(y)

    mapped = jax.shard_map(local, mesh=mesh, in_specs=spec, out_specs=spec)
    out = jax.grad(lambda x: mapped(x).sum())(to_jax(V))
    np.testing.assert_allclose(out, np.cos(2.0 * V) * 6.0, rtol=1e-14)


def test_under_autocast():
    """Under autocast, a cotangent of a different dtype is cast for the hook and back."""

    def loss(x, w):
        y = jaxgrad.hook(x @ w, lambda g: g * x.sum())
        return jaxgrad.backward_hook(jnp.tanh, lambda gi, go: (gi[0] * go[0],))(y).sum()

    x, w = jnp.full((2, 3), 0.5, "float32"), jnp.full((3, 4), 0.25, "float32")
    low = jax.grad(jaxgrad.autocast(loss), 1)(x, w)
    assert low.dtype == jnp.float32
    np.testing.assert_allclose(low, jax.grad(loss, 1)(x, w), rtol=0.03)
