"""`jaxgrad.autocast` matches torch's CPU autocast and composes with every transformation."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad


F = torch.nn.functional
RNG = np.random.default_rng(7)
X, W, V = (RNG.normal(size=s).astype("f") for s in ((5, 4), (4, 3), (3, 1)))
B = RNG.normal(size=3).astype("f")
SAME = {torch.float32: jnp.float32, torch.bfloat16: jnp.bfloat16, torch.float16: jnp.float16}


def torch_recurrence(x, w, b):
    h = x[0] @ w
    for row in x:
        h = torch.tanh(F.linear(row, w.T, b) + h)
    return h


# Pairs of a torch and a JAX function of x (5, 4), w (4, 3) and b (3,), all float32. Under autocast
# their products have low precision.
PROGRAMS: dict[str, tuple[Any, Any]] = {
    "matmul": (lambda x, w, b: x @ w, lambda x, w, b: x @ w),
    "linear": (lambda x, w, b: F.linear(x, w.T, b), lambda x, w, b: x @ w + b),
    "linear of one": (lambda x, w, b: F.linear(x[0], w.T, b), lambda x, w, b: x[0] @ w + b),
    "linear in jit": (
        lambda x, w, b: F.linear(x, w.T, b),
        jax.jit(lambda x, w, b: jax.jit(jnp.matmul)(x, w) + b),
    ),
    "einsum": (
        lambda x, w, b: torch.einsum("ij,jk->ik", x, w),
        lambda x, w, b: jnp.einsum("ij,jk->ik", x, w),
    ),
    "batched": (
        lambda x, w, b: torch.bmm(x[None], w[None]),
        lambda x, w, b: jnp.matmul(x[None], w[None]),
    ),
    "vmap": (lambda x, w, b: x @ w, lambda x, w, b: jax.vmap(lambda r: r @ w)(x)),
    "conv": (
        lambda x, w, b: F.conv1d(x[None], torch.ones(3, 5, 2)),
        lambda x, w, b: lax.conv(x[None], jnp.ones((3, 5, 2), x.dtype), (1,), "VALID"),
    ),
    "relu": (lambda x, w, b: torch.relu(x @ w), lambda x, w, b: jax.nn.relu(x @ w)),
    "gelu": (lambda x, w, b: F.gelu(x @ w), lambda x, w, b: jax.nn.gelu(x @ w, approximate=False)),
    "silu": (lambda x, w, b: F.silu(x @ w), lambda x, w, b: jax.nn.silu(x @ w)),
    "exp": (lambda x, w, b: (x @ w).exp(), lambda x, w, b: jnp.exp(x @ w)),
    "log": (lambda x, w, b: (x @ w).abs().log(), lambda x, w, b: jnp.log(jnp.abs(x @ w))),
    "tanh": (lambda x, w, b: (x @ w).tanh(), lambda x, w, b: jnp.tanh(x @ w)),
    "softmax": (lambda x, w, b: (x @ w).softmax(0), lambda x, w, b: jax.nn.softmax(x @ w, 0)),
    "logsumexp": (
        lambda x, w, b: (x @ w).logsumexp(0),
        lambda x, w, b: jax.nn.logsumexp(x @ w, 0),
    ),
    "power": (lambda x, w, b: (x @ w) ** 2, lambda x, w, b: (x @ w) ** 2),
    "sum": (lambda x, w, b: (x @ w).sum(), lambda x, w, b: (x @ w).sum()),
    "mean": (lambda x, w, b: (x @ w).mean(), lambda x, w, b: (x @ w).mean()),
    "mean of an axis": (lambda x, w, b: (x @ w).mean(0), lambda x, w, b: (x @ w).mean(0)),
    "var": (lambda x, w, b: (x @ w).var(), lambda x, w, b: (x @ w).var(ddof=1)),
    "max": (lambda x, w, b: (x @ w).max(), lambda x, w, b: (x @ w).max()),
    "prod": (lambda x, w, b: (x @ w).prod(), lambda x, w, b: (x @ w).prod()),
    "cumsum": (lambda x, w, b: (x @ w).cumsum(0), lambda x, w, b: (x @ w).cumsum(0)),
    "sort": (lambda x, w, b: (x @ w).sort(0)[0], lambda x, w, b: jnp.sort(x @ w, 0)),
    "times a number": (lambda x, w, b: (x @ w) * 2.5, lambda x, w, b: (x @ w) * 2.5),
    "times a 0-d array": (lambda x, w, b: (x @ w) * x[0, 0], lambda x, w, b: (x @ w) * x[0, 0]),
    "times float32": (lambda x, w, b: (x @ w) * x[:, :3], lambda x, w, b: (x @ w) * x[:, :3]),
    "plus float32": (lambda x, w, b: x @ w + x[:, :3], lambda x, w, b: x @ w + x[:, :3]),
    "relu plus a vector": (
        lambda x, w, b: torch.relu(x @ w) + b,
        lambda x, w, b: jax.nn.relu(x @ w) + b,
    ),
    "plus an integer": (
        lambda x, w, b: x @ w + torch.arange(3),
        lambda x, w, b: x @ w + jnp.arange(3),
    ),
    "concatenate": (
        lambda x, w, b: torch.cat([x @ w, x[:, :3]]),
        lambda x, w, b: jnp.concatenate([x @ w, x[:, :3]]),
    ),
    "where": (
        lambda x, w, b: torch.where(x @ w > 0, x @ w, 0.0),
        lambda x, w, b: jnp.where(x @ w > 0, x @ w, 0.0),
    ),
    "where of float32": (
        lambda x, w, b: torch.where(x @ w > 0, x @ w, x[:, :3]),
        lambda x, w, b: jnp.where(x @ w > 0, x @ w, x[:, :3]),
    ),
    "no product": (lambda x, w, b: x.exp() * 2, lambda x, w, b: jnp.exp(x) * 2),
    "index": (lambda x, w, b: (x @ w)[[0, 2]], lambda x, w, b: (x @ w)[jnp.array([0, 2])]),
    "argmax": (lambda x, w, b: (x @ w).argmax(), lambda x, w, b: jnp.argmax(x @ w)),
    "detach": (lambda x, w, b: (x @ w).detach(), lambda x, w, b: lax.stop_gradient(x @ w)),
    "checkpoint": (
        lambda x, w, b: torch.relu(F.linear(x, w.T, b)),
        jax.checkpoint(lambda x, w, b: jax.nn.relu(x @ w + b)),
    ),
    "cond": (
        lambda x, w, b: torch.relu(x @ w),
        lambda x, w, b: lax.cond(x[0, 0] < 9, lambda: jax.nn.relu(x @ w), lambda: x @ w),
    ),
    "scan": (
        lambda x, w, b: torch.stack([torch.tanh(r @ w) for r in x]),
        lambda x, w, b: lax.map(lambda r: jnp.tanh(r @ w), x),
    ),
    "recurrence": (
        torch_recurrence,
        lambda x, w, b: lax.scan(lambda h, r: (jnp.tanh(r @ w + b + h), None), x[0] @ w, x)[0],
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("low", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_dtype_and_value_of_torch(name: str, low: Any) -> None:
    """Every program returns the dtype of torch's CPU autocast, and its value to that precision."""
    theirs, ours = PROGRAMS[name]
    with torch.autocast("cpu", dtype=low):
        expected = theirs(*map(torch.tensor, (X, W, B)))
    got = jaxgrad.autocast(ours, SAME[low])(*map(jnp.array, (X, W, B)))
    if expected.dtype in SAME:
        assert got.dtype == SAME[expected.dtype]
        wide = np.asarray(got, np.float64)
        scale = max(1.0, np.abs(wide).max())
        np.testing.assert_allclose(wide, expected.double(), atol=16 * scale * torch.finfo(low).eps)
    else:
        assert int(got) == int(expected)


def mlp(p: Any, x: Any) -> Any:
    """Return the mean output of a two-layer perceptron, and every intermediate value."""
    a = x @ p["w"] + p["b"]
    h = jax.nn.relu(a)
    out = h @ p["v"]
    return out.mean(), (a, h, out)


PARAMS = {"w": jnp.array(W), "b": jnp.array(B), "v": jnp.array(V)}


def test_every_intermediate_of_an_mlp() -> None:
    """Linear, relu and mean are bfloat16; parameters keep float32 and get float32 gradients."""
    leaves = {k: torch.tensor(np.array(v), requires_grad=True) for k, v in PARAMS.items()}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = F.linear(torch.tensor(X), leaves["w"].T, leaves["b"])
        h = torch.relu(a)
        out = F.linear(h, leaves["v"].T)
        loss = out.mean()
    loss.backward()
    run = jaxgrad.value_and_grad(jaxgrad.autocast(mlp), has_aux=True)
    for step in (run, jax.jit(run)):
        (value, intermediates), grads = step(PARAMS, jnp.array(X))
        assert [value.dtype, *(h.dtype for h in intermediates)] == [jnp.bfloat16] * 4
        assert [t.dtype for t in (loss, a, h, out)] == [torch.bfloat16] * 4
        for k, leaf in leaves.items():
            assert grads[k].dtype == jnp.float32
            assert leaf.grad is not None
            np.testing.assert_allclose(grads[k], leaf.grad, rtol=0.02, atol=0.02)


def test_outer_transformations() -> None:
    """An autocast function works under jit, vmap, grad, grad of grad and remat."""
    f = jaxgrad.autocast(lambda w, x: jnp.tanh(x @ w).sum())
    w, x = jnp.array(W), jnp.array(X)
    assert jax.vmap(f, (None, 0))(w, x).shape == (5,)
    g = jax.grad(f)
    assert g(w, x).dtype == jnp.float32
    np.testing.assert_allclose(jax.jit(g)(w, x), g(w, x), atol=0.1)
    assert jax.grad(lambda w: jnp.sum(g(w, x) ** 2))(w).dtype == jnp.float32
    np.testing.assert_allclose(jax.grad(jax.checkpoint(f))(w, x), g(w, x), atol=0.1)


@jax.custom_jvp
def doubled(x):
    return x * 2


doubled.defjvps(lambda t, ans, x: 7 * t)


@jax.custom_vjp
def product(x, w):
    return x @ w


product.defvjp(lambda x, w: (x @ w, (x, w)), lambda r, g: (g @ r[1].T, 11 * r[0].T @ g))

ODD = {
    "custom_jvp": (lambda x, w: doubled(x @ w), 7),
    "custom_vjp": (product, 11),
    "custom_jvp in scan": (lambda x, w: lax.map(lambda r: doubled(r @ w), x), 7),
    "custom_vjp in remat": (jax.checkpoint(product), 11),
    "custom_vjp in vmap": (jax.vmap(lambda r, w: product(r[None], w)[0], (0, None)), 11),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("f", "factor"), ODD.values(), ids=ODD)
def test_custom_rules_are_kept(f: Any, factor: int) -> None:
    """Under autocast, a custom rule still determines the derivative."""
    loss = jaxgrad.autocast(lambda x, w: f(x, w).sum())
    grads = jax.grad(loss, 1)(jnp.array(X), jnp.array(W))
    assert grads.dtype == jnp.float32
    exact = factor * np.repeat(X.sum(0)[:, None], 3, 1)
    np.testing.assert_allclose(grads, exact, atol=0.02 * np.abs(exact).max())


def test_float64_and_complex_are_left_alone() -> None:
    """Autocast leaves float64 and complex values alone, as torch does."""
    x, w = X.astype("d"), W.astype("d")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (torch.tensor(x) @ torch.tensor(w)).dtype == torch.float64
    f = jaxgrad.autocast(jnp.matmul)
    assert f(x, w).dtype == jnp.float64
    assert f(x.astype(complex), w.astype(complex)).dtype == jnp.complex128


def test_while_and_linear_algebra_run() -> None:
    """A while loop gets a carry of one dtype, and a linear solve runs in float32."""
    f = lambda w: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] @ w), (0, w))[1]  # noqa: E731 # a program
    w = jnp.eye(3, dtype="f") * 2
    np.testing.assert_array_equal(jaxgrad.autocast(f)(w), f(w))
    g = lambda w: jnp.linalg.solve(w, w @ w)  # noqa: E731 # a program
    np.testing.assert_array_equal(jaxgrad.autocast(g)(w), g(w))


def test_cuda_lists() -> None:
    """With `device_type="cuda"`, exp, softmax, sums and powers run in float32, as in torch."""
    w, x = jnp.array(W), jnp.array(X)
    for f in (jnp.exp, jax.nn.softmax, jnp.sum, lambda h: h**2):
        assert jaxgrad.autocast(lambda f=f: f(x @ w), device_type="cuda")().dtype == jnp.float32
    assert jaxgrad.autocast(lambda: jnp.tanh(x @ w), device_type="cuda")().dtype == jnp.bfloat16


def test_errors() -> None:
    """An unsupported dtype or device type raises."""
    with pytest.raises(ValueError, match="dtype must be bfloat16 or float16, got float32"):
        jaxgrad.autocast(mlp, jnp.float32)
    with pytest.raises(ValueError, match='device_type must be "cpu" or "cuda", got \'mps\''):
        jaxgrad.autocast(mlp, device_type="mps")
