"""JAX port of EachReads (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class EachReads(nnx.Module):
    """EachReads (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        first, _, shift = scores_of(self.project(x), x, scale=2.0)
        _, weights, _ = scores_of(first, x, scale=2.0)
        return weights * shift


def scores_of(x, key, *, scale):
    """scores_of (finish/test_results.py:0)."""
    scores = x * scale
    # the weights
    weights = jax.nn.softmax(scores, axis=-1)
    shift = key.mean()
    return scores, weights, shift

# ---- the next port of this test ----
"""JAX port of EachReads (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class EachReads(nnx.Module):
    """EachReads (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        first, _, shift = scores_of(self.project(x), x, scale=2.0)
        _, weights, _ = scores_of(first, x, scale=2.0)
        return weights * shift


def scores_of(x, key, *, scale):
    """scores_of (finish/test_results.py:0)."""
    scores = x * scale
    # the weights
    weights = jax.nn.softmax(scores, axis=-1)
    shift = key.mean()
    return scores, weights, shift
