"""Nested autocast regions, and each documented difference between jaxgrad and torch autocast."""

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
RNG = np.random.default_rng(11)
X, W, V = (RNG.normal(size=(4, 4)).astype("f") / 2 for _ in range(3))
B = RNG.normal(size=4).astype("f")
auto = jaxgrad.autocast


def torch_regions(x: Any, w: Any, dtype: Any, enabled: bool) -> Any:
    """Run a region between two products; with autocast off, torch needs an explicit `.float()`."""
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


CALLS = {
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


@pytest.mark.sampled(3)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("low", "enabled"),
    [(torch.bfloat16, False), (torch.float16, True), (torch.bfloat16, True)],
    ids=["disabled", "float16", "again"],
)
def test_a_region_has_its_own_setting(call: str, low: Any, enabled: bool) -> None:
    """A nested region uses its own dtype, or no autocast, under every transformation."""
    dtype = {torch.bfloat16: jnp.bfloat16, torch.float16: jnp.float16}[low]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = torch_regions(torch.tensor(X), torch.tensor(W), low, enabled)
    got = jax_regions(CALLS[call], dtype, enabled)(jnp.asarray(X), jnp.asarray(W))
    if call != "while":  # in a while loop, the carry has its widest dtype in all iterations
        assert [f"torch.{v.dtype}" for v in got] == [str(v.dtype) for v in expected]
    for a, b in zip(got, expected, strict=True):
        four_ulp = 2.0**-6 * float(b.abs().max())  # ULPs of bfloat16
        np.testing.assert_allclose(np.asarray(a, "d"), b.double(), atol=four_ulp)


def test_enabled_inside_disabled() -> None:
    """An enabled region inside a disabled one autocasts, with torch's dtypes."""
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


def test_the_derivative_of_a_region_belongs_to_it() -> None:
    """The gradient of a disabled region is bit-identical to the float32 gradient."""
    loss = lambda w, x: jnp.sum(jnp.tanh(x @ w))  # noqa: E731 # a program
    x, w = jnp.asarray(X), jnp.asarray(W)
    exact = jax.jit(jax.grad(loss))(w, x)
    for grad in (jax.grad(auto(loss, enabled=False)), auto(jax.grad(loss), enabled=False)):
        np.testing.assert_array_equal(jax.jit(auto(grad))(w, x), exact)
        assert (jax.jit(auto(jax.grad(loss)))(w, x) != exact).any()


def test_linear_and_mean_round_once() -> None:
    """A product and its bias, and a sum and its division, are rounded together as in torch."""
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


def test_residuals_have_low_precision() -> None:
    """A linear layer saves its inputs for the backward pass in low precision, as torch does."""
    x, w, b = jnp.asarray(X), jnp.asarray(W), jnp.asarray(B)
    kept = jaxgrad.saved_bytes(auto(lambda w, b: x @ w + b), w, b)
    wide = jaxgrad.saved_bytes(lambda w, b: jnp.tanh(x) @ w + b, w, b)
    assert kept <= wide / 2


# --- Differs from torch in -----------------------------------------------------------------------


def test_1_a_carry_has_one_dtype() -> None:
    """The carry of a scan has its widest dtype, but the final carry has torch's dtype."""
    h, doubled = torch.zeros(4), []
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for row in torch.tensor(X):
            doubled.append(h * 2)
            h = torch.tanh(row @ torch.tensor(W) + h.bfloat16() @ torch.tensor(W))

    def step(h: Any, row: Any) -> Any:
        return jnp.tanh(row @ W + h @ W), h * 2

    last, ours = auto(lambda x: lax.scan(step, jnp.zeros(4, "f"), x))(jnp.asarray(X))
    assert (last.dtype, h.dtype) == (jnp.bfloat16, torch.bfloat16)
    assert [d.dtype for d in doubled] == [torch.float32, *[torch.bfloat16] * 3]
    assert ours.dtype == jnp.float32


def test_2_patterns_that_count_as_one_operation() -> None:
    """A product plus a vector, `dot` and a mean square have different dtypes than in torch."""
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
    """`astype(float32)` has no effect under autocast; a disabled region does compute in float32."""
    x, w = torch.tensor(X), torch.tensor(W)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.tanh((x @ w).float()).dtype == torch.float32
    assert auto(lambda x, w: jnp.tanh((x @ w).astype(jnp.float32)))(X, W).dtype == jnp.bfloat16
    wide = auto(lambda x, w: auto(jnp.tanh, enabled=False)(x @ w))(X, W)
    assert wide.dtype == jnp.float32


def test_4_padding_by_reflection() -> None:
    """Reflection padding keeps its dtype, while torch runs it in float32 on a CPU."""
    x, w = torch.tensor(X), torch.tensor(W)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert F.pad((x @ w)[None], (1, 1), mode="reflect").dtype == torch.float32
    ours = auto(lambda x, w: jnp.pad(x @ w, ((0, 0), (1, 1)), mode="reflect"))(X, W)
    assert ours.dtype == jnp.bfloat16
