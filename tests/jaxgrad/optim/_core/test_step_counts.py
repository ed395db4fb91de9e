"""Step counts of several leaves are stacked under `jit`, and give the same state and bits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgrad
from jaxgrad.optim._core.step_counts import stack


def test_traced_counts_share_vectors():
    """Traced float32 counts are incremented in one vector; a leaf without a count has no place."""
    places = []

    def run(a, b):
        places.extend(stack([a, None, b, np.float32(1)]))
        return places[0].counts

    counts = jax.jit(run)(jnp.float32(3), jnp.float32(5))

    assert counts.tolist() == [4, 6]
    assert [p and p.place for p in places] == [0, None, 1, None]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("exact", [False, True])
def test_leaves_with_different_counts(exact):
    """Under `jit` each leaf's bias correction uses its own count, as it does eagerly."""
    tx = jaxgrad.optim.adam(lr=0.1, exact=exact)
    params = {name: jnp.array([1.0, 2.0], jnp.float32) for name in "abc"}
    grads = {name: jnp.array([0.3, -0.2], jnp.float32) for name in "abc"}
    _, state = tx.step({**grads, "b": None}, tx.init(params), params)
    eager, after = tx.step({**grads, "c": None}, state, params)
    jitted, jitted_after = jax.jit(tx.step)({**grads, "c": None}, state, params)

    assert {k: float(n) for k, n in jitted_after.step.items()} == {"a": 2, "b": 1, "c": 1}
    rtol = 0 if exact else 1e-6  # XLA fuses the compiled program differently
    for name in "abc":
        assert np.allclose(jitted[name], eager[name], rtol=rtol, atol=0)
        assert after.step[name] == jitted_after.step[name]
