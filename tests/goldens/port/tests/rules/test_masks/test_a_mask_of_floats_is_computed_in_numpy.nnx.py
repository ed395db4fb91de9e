"""JAX port of Upper (rules/test_masks.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class Upper(nnx.Module):
    """The mask is computed from floats, as an index after a slice.

    Upper (rules/test_masks.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        scores = h @ h.T
        upper = jnp.ones_like(scores)
        upper = jnp.triu(upper, 1)
        return scores[None][:, np.triu(np.ones(scores.shape, dtype=scores.dtype), 1) > 0]
