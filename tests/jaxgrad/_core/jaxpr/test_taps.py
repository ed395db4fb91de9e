"""Taps read values and cotangents inside a program without changing any result by a bit."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad._core import jaxpr as _jaxpr
from tests.jaxgrad._core.jaxpr.programs import X, bits, sines_of, tripled_jvp


AROUND = {
    "nothing": lambda f: f,
    "jit": jax.jit,
    "remat": jax.checkpoint,
    "remat of jit": lambda f: jax.checkpoint(jax.jit(f)),
    "scan": lambda f: lambda x: lax.map(f, x),
    "reverse scan": lambda f: (
        lambda x: lax.scan(lambda c, a: (c, f(a)), 0, x, reverse=True, unroll=2)[1]
    ),
    "scan of scan of remat": lambda f: (
        lambda x: lax.map(lambda a: lax.map(jax.checkpoint(f), a), x)
    ),
    "scan of cond": lambda f: (
        lambda x: lax.map(lambda a: lax.cond(a.sum() < 99, f, lambda a: a, a), x)
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_reads_and_cotangents(around: Any) -> None:
    """Tapped values and cotangents are stacked over loop iterations, and no result changes."""
    x = jnp.array(X)
    program = lambda x: jnp.exp(around(lambda x: jnp.sin(x) * 3)(x)).sum()  # noqa: E731 # a program
    jaxpr = _jaxpr.trace(program, x).jaxpr
    (place,) = sines_of(jaxpr)
    shape = _jaxpr.slot_shape(place)
    assert shape.shape == X.shape

    def run(x: Any, slot: Any) -> Any:
        outs, _ = _jaxpr.with_taps(jaxpr, [x], {place.path: slot})
        return outs[0]

    value, (grads, cotangent) = jax.value_and_grad(run, (0, 1))(x, jnp.zeros_like(shape))
    assert bits((value, grads)) == bits(jax.value_and_grad(program)(x))
    np.testing.assert_allclose(cotangent, 3 * np.exp(3 * np.sin(X)), rtol=1e-13)
    _, reads = _jaxpr.with_taps(jaxpr, [x], {}, [place.path])
    np.testing.assert_allclose(reads[place.path], np.sin(X), rtol=1e-15)


def test_branch_not_taken_reads_zeros() -> None:
    """A value in a branch that was not taken reads as zeros."""
    jaxpr = _jaxpr.trace(lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), jnp.array(X)).jaxpr
    (place,) = sines_of(jaxpr)
    _, reads = _jaxpr.with_taps(jaxpr, [jnp.array(X)], {}, [place.path])
    assert not np.any(reads[place.path])


def test_no_tap_inside_a_while_or_a_custom_rule() -> None:
    """A tap inside a while loop or a custom rule raises, because no gradient reaches it."""
    for f in (
        tripled_jvp,
        lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: jnp.sin(c) + 9, x),
    ):
        jaxpr = _jaxpr.trace(f, jnp.array(X)).jaxpr
        (place,) = sines_of(jaxpr)
        for taps in ({"slots": {place.path: 0.0}}, {"slots": {}, "reads": [place.path]}):
            with pytest.raises(
                ValueError, match=r"cannot tap .* cannot enter (custom_jvp_call|while)"
            ):
                _jaxpr.with_taps(jaxpr, [jnp.array(X)], **taps)
