"""As in torch, a weight that is used only in products is cast once, outside of loops."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad
from jaxgrad._core import jaxpr as _jaxpr


RNG = np.random.default_rng(11)
X, W = (RNG.normal(size=(4, 4)).astype("f") / 2 for _ in range(2))
B = RNG.normal(size=4).astype("f")
auto = jaxgrad.autocast


def test_a_weight_is_cast_once() -> None:
    """A weight with two uses is cast once, so its two gradients are summed before the cast back."""
    f = auto(lambda w, x: (x @ w) @ w)
    text = str(jax.make_jaxpr(f)(jnp.eye(4, dtype="f"), jnp.array(X)))
    assert text.count("convert_element_type") == 2  # w and x


def casts(program: Any, shape: tuple[int, ...], *args: Any) -> list[int]:
    """Return the nesting depth of each cast of a float32 array of `shape` to low precision."""
    jaxpr = jax.make_jaxpr(program)(*args)
    return [
        len(place.path)
        for place in _jaxpr.walk(jaxpr)
        if place.eqn.primitive.name == "convert_element_type"
        and _jaxpr.abstract(place.eqn.invars[0]).dtype == jnp.float32
        and place.eqn.params["new_dtype"] != jnp.float32
        and _jaxpr.abstract(place.eqn.invars[0]).shape == shape
    ]


ONCE = {
    "twice": lambda w, b, x: (x @ w + b) @ w + b,
    "views": lambda w, b, x: (x @ w.T + b) @ w.T.reshape(4, 4),
    "jit": jax.jit(lambda w, b, x: (x @ w + b) @ w + b),
    "remat": jax.checkpoint(lambda w, b, x: jnp.tanh(x @ w + b) @ w),
    "scan": lambda w, b, x: lax.scan(lambda h, r: (jnp.tanh(r @ w + h @ w + b), None), x[0], x)[0],
    "layers in scan": lambda w, b, x: lax.scan(
        lambda h, p: (jnp.tanh(h @ p[0] + p[1]), None), x[0], (w[None], b[None])
    )[0],
    "cond": lambda w, b, x: lax.cond(x[0, 0] < 9, lambda: x @ w + b, lambda: x @ w.T),
    "scan in jit": jax.jit(lambda w, b, x: lax.map(jax.checkpoint(lambda r: r @ w + b), x)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ONCE)
def test_a_weight_is_cast_once_and_outside(name: str) -> None:
    """A weight is cast once at the top level, wherever it is used; its gradient is float32."""
    w, b, x = jnp.asarray(W[:, :3] @ W[:3]), jnp.asarray(B), jnp.asarray(X[:2])
    program = auto(ONCE[name])
    assert casts(program, (4, 4), w, b, x) == [1]
    grads = [
        jax.grad(lambda w, f=f: jnp.sum(f(w, b, x).astype("f") ** 2))(w)
        for f in (program, ONCE[name])
    ]
    assert grads[0].dtype == jnp.float32
    np.testing.assert_allclose(grads[0], grads[1], atol=0.05 * np.abs(grads[1]).max())


def test_torch_casts_a_weight_once() -> None:
    """In torch and in jaxgrad, the gradients of two uses are summed in low precision."""
    x, w = torch.tensor(X), torch.tensor(W, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ((x @ w) @ w).float().sum().backward()
    grad = jax.grad(lambda w: auto(lambda w: (X @ w) @ w)(w).astype(jnp.float32).sum())(
        jnp.asarray(W)
    )
    assert w.grad is not None
    np.testing.assert_array_equal(grad, w.grad)
