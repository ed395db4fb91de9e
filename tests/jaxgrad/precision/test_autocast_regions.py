"""Regions in `jaxgrad.autocast`, what is cast once, each line of `Differs from torch in`."""

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


F = torch.nn.functional
RNG = np.random.default_rng(11)
X, W, V = (RNG.normal(size=(4, 4)).astype("f") / 2 for _ in range(3))
B = RNG.normal(size=4).astype("f")
auto = jaxgrad.autocast


def torch_regions(x: Any, w: Any, dtype: Any, enabled: bool) -> Any:
    """A region between two products; `.float()` where autocast is off, as torch asks for."""
    h = x @ w
    with torch.autocast("cpu", dtype=dtype, enabled=enabled):
        inside = torch.tanh(h if enabled else h.float()) @ w
    return h, inside, inside @ w


def jax_regions(wrap: Any, dtype: Any, enabled: bool) -> Any:
    def program(x: Any, w: Any) -> Any:
        def inner(h: Any) -> Any:
            return jnp.tanh(h) @ w

        h = x @ w
        inside = wrap(auto(inner, dtype, enabled=enabled), h)
        return h, inside, inside @ w

    return auto(program)


WAYS = {
    "called": lambda f, h: f(h),
    "jit": lambda f, h: jax.jit(f)(h),
    "remat": lambda f, h: jax.checkpoint(f)(h),
    "vmap": lambda f, h: jax.vmap(f)(h),
    "scan": lax.map,
    "cond": lambda f, h: lax.cond(h[0, 0] < 9, f, f, h),
    "while": lambda f, h: lax.while_loop(
        lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1]).astype(h.dtype)), (0, h)
    )[1],
    "jit in jit": lambda f, h: jax.jit(jax.jit(f))(h),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("low", "enabled"),
    [(torch.bfloat16, False), (torch.float16, True), (torch.bfloat16, True)],
    ids=["disabled", "float16", "again"],
)
def test_a_region_has_its_own_setting(way: str, low: Any, enabled: bool) -> None:
    """Inside a region its own dtype holds, or none, however it is called."""
    dtype = {torch.bfloat16: jnp.bfloat16, torch.float16: jnp.float16}[low]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = torch_regions(torch.tensor(X), torch.tensor(W), low, enabled)
    got = jax_regions(WAYS[way], dtype, enabled)(jnp.asarray(X), jnp.asarray(W))
    if way != "while":  # the dtype of a carry is the widest it ever has
        assert [f"torch.{v.dtype}" for v in got] == [str(v.dtype) for v in expected]
    for a, b in zip(got, expected, strict=True):
        four = 2.0**-6 * float(b.abs().max())  # units in the last place of bfloat16
        np.testing.assert_allclose(np.asarray(a, "d"), b.double(), atol=four)


def test_enabled_inside_disabled() -> None:
    """A region inside a disabled one is autocast again; the dtype of each is torch's."""
    x, w = torch.tensor(X), torch.tensor(W)
    with torch.autocast("cpu", enabled=False):
        h = x @ w
        with torch.autocast("cpu", dtype=torch.float16):
            inside = h @ w
    got = auto(lambda x, w: (x @ w, auto(lambda h: h @ w, jnp.float16)(x @ w)), enabled=False)
    for program in (got, auto(got)):
        assert [f"torch.{v.dtype}" for v in program(X, jnp.asarray(W))] == [
            str(v.dtype) for v in (h, inside)
        ]


def test_the_derivative_of_a_region_is_in_it() -> None:
    """A gradient that is taken of a disabled region is taken in float32, bit for bit."""
    loss = lambda w, x: jnp.sum(jnp.tanh(x @ w))  # noqa: E731 # a program
    x, w = jnp.asarray(X), jnp.asarray(W)
    exact = jax.jit(jax.grad(loss))(w, x)
    for grad in (jax.grad(auto(loss, enabled=False)), auto(jax.grad(loss), enabled=False)):
        np.testing.assert_array_equal(jax.jit(auto(grad))(w, x), exact)
        assert (jax.jit(auto(jax.grad(loss)))(w, x) != exact).any()


def casts(program: Any, shape: tuple[int, ...], *args: Any) -> list[int]:
    """How many times a float32 array of this shape is cast down, by how deep in the program."""
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


@pytest.mark.parametrize("way", ONCE)
def test_a_weight_is_cast_once_and_outside(way: str) -> None:
    """However often, and however deep, it is used; its gradient comes back in float32."""
    w, b, x = jnp.asarray(W[:, :3] @ W[:3]), jnp.asarray(B), jnp.asarray(X[:2])
    program = auto(ONCE[way])
    assert casts(program, (4, 4), w, b, x) == [1]
    grads = [
        jax.grad(lambda w, f=f: jnp.sum(f(w, b, x).astype("f") ** 2))(w)
        for f in (program, ONCE[way])
    ]
    assert grads[0].dtype == jnp.float32
    np.testing.assert_allclose(grads[0], grads[1], atol=0.05 * np.abs(grads[1]).max())


def test_torch_casts_a_weight_once() -> None:
    """The gradients of two uses add up in low precision in both, and are cast back once."""
    x, w = torch.tensor(X), torch.tensor(W, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ((x @ w) @ w).float().sum().backward()
    grad = jax.grad(lambda w: auto(lambda w: (X @ w) @ w)(w).astype(jnp.float32).sum())(
        jnp.asarray(W)
    )
    assert w.grad is not None
    np.testing.assert_array_equal(grad, w.grad)


def test_linear_and_mean_round_once() -> None:
    """Sum and bias are rounded together, as torch's kernel does; so are sum and division."""
    x, w, b = (RNG.normal(size=s).astype("f") for s in ((64, 256), (256, 64), (64,)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = F.linear(torch.tensor(x), torch.tensor(w).T, torch.tensor(b))
        mean = expected.mean(0)
    got = auto(lambda x, w, b: x @ w + b)(x, w, b)
    twice = auto(lambda x, w, b: lax.optimization_barrier(x @ w) + b.astype(jnp.bfloat16))(x, w, b)
    exact = np.asarray(auto(lambda h: h.mean(0))(got), "f")
    wrong = [(np.asarray(v, "f") != expected.float().numpy()).mean() for v in (got, twice)]
    assert wrong[0] < 0.01, wrong
    assert wrong[1] > 0.05, wrong
    assert (exact != mean.float().numpy()).mean() < 0.02


def test_what_is_saved_for_backward_is_low() -> None:
    """A linear layer keeps its inputs in low precision, as torch does."""
    x, w, b = jnp.asarray(X), jnp.asarray(W), jnp.asarray(B)
    kept = jaxgrad.saved_bytes(auto(lambda w, b: x @ w + b), w, b)
    wide = jaxgrad.saved_bytes(lambda w, b: jnp.tanh(x) @ w + b, w, b)
    assert kept <= wide / 2


def test_a_bias_is_told_from_data() -> None:
    """A vector that is data, as one example under vmap is, is no bias; one that is decayed is."""
    x, w, b = torch.tensor(X), torch.tensor(W), torch.tensor(B)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        theirs = x + F.layer_norm(x, (4,)) @ w, F.linear(x, w.T, b)

    def program(x: Any, w: Any, b: Any) -> Any:
        normed = (x - x.mean()) * lax.rsqrt(x.var() + 1e-5)
        return x + normed @ w, x @ w + b, jnp.sum(b**2)

    ours = jax.vmap(auto(program), (0, None, None))(jnp.asarray(X), jnp.asarray(W), jnp.asarray(B))
    assert [str(v.dtype)[6:] for v in theirs] == [str(v.dtype) for v in ours[:2]]


# --- Differs from torch in -----------------------------------------------------------------------


def test_1_a_carry_has_one_dtype() -> None:
    """Inside a scan the carry is as wide as it ever is; what comes out is as torch has it."""
    h, seen = torch.zeros(4), []
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for row in torch.tensor(X):
            seen.append(h * 2)
            h = torch.tanh(row @ torch.tensor(W) + h.bfloat16() @ torch.tensor(W))

    def turn(h: Any, row: Any) -> Any:
        return jnp.tanh(row @ W + h @ W), h * 2

    last, ours = auto(lambda x: lax.scan(turn, jnp.zeros(4, "f"), x))(jnp.asarray(X))
    assert (last.dtype, h.dtype) == (jnp.bfloat16, torch.bfloat16)
    assert [s.dtype for s in seen] == [torch.float32, *[torch.bfloat16] * 3]
    assert ours.dtype == jnp.float32


def test_2_what_is_taken_for_an_operation() -> None:
    """A vector added by hand, `dot` and a mean square have other dtypes in torch."""
    x, w, b = torch.tensor(X), torch.tensor(W), torch.tensor(B)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = x @ w
        theirs = [h + b, torch.dot(x[0], x[0]), ((h - h.tanh()) ** 2).mean()]

    def program(x: Any, w: Any, b: Any) -> Any:
        h = x @ w
        return x @ w + b, jnp.dot(x[0], x[0]), jnp.mean((h - jnp.tanh(h)) ** 2)

    ours = auto(program)(X, W, B)
    assert [str(v.dtype)[6:] for v in theirs] == ["float32", "float32", "bfloat16"]
    assert [str(v.dtype) for v in ours] == ["bfloat16", "bfloat16", "float32"]

    def instance_norm(x: Any, w: Any) -> Any:
        h = (x @ w).reshape(2, 2, 4)
        mean, var = h.mean(-1, keepdims=True), h.var(-1, keepdims=True)
        return (h - mean) * lax.rsqrt(var + 1e-5)

    assert auto(instance_norm)(X, W).dtype == jnp.bfloat16
    assert auto(instance_norm, device_type="cuda")(X, W).dtype == jnp.float32


def test_3_a_cast_to_float32_leaves_no_trace() -> None:
    """`astype(float32)` does nothing under autocast; a disabled region does what is meant."""
    x, w = torch.tensor(X), torch.tensor(W)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.tanh((x @ w).float()).dtype == torch.float32
    assert auto(lambda x, w: jnp.tanh((x @ w).astype(jnp.float32)))(X, W).dtype == jnp.bfloat16
    wide = auto(lambda x, w: auto(jnp.tanh, enabled=False)(x @ w))(X, W)
    assert wide.dtype == jnp.float32


def test_4_padding_by_reflection() -> None:
    """On a CPU torch reflects and replicates in float32; here the dtype stays."""
    x, w = torch.tensor(X), torch.tensor(W)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert F.pad((x @ w)[None], (1, 1), mode="reflect").dtype == torch.float32
    ours = auto(lambda x, w: jnp.pad(x @ w, ((0, 0), (1, 1)), mode="reflect"))(X, W)
    assert ours.dtype == jnp.bfloat16
