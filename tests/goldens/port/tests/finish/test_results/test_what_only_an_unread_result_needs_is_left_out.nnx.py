"""JAX port of Scores (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Scores(nnx.Module):
    """Scores (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        found = scores_of(self.project(x), jnp.exp(x), scale=2.0)
        return found[1] * 2


def scores_of(x, key, *, scale):
    """scores_of (finish/test_results.py:0)."""
    scores = x * scale
    # the weights
    weights = jax.nn.softmax(scores, axis=-1)
    shift = key.mean()
    return scores, weights, shift

# ---- the next port of this test ----
"""JAX port of Scores (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Scores(nnx.Module):
    """Scores (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        found = scores_of(self.project(x), jnp.exp(x), scale=2.0)
        return found[1] * 2


def scores_of(x, key, *, scale):
    """scores_of (finish/test_results.py:0)."""
    scores = x * scale
    # the weights
    weights = jax.nn.softmax(scores, axis=-1)
    shift = key.mean()
    return scores, weights, shift
