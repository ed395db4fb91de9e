"""JAX port of Contrast (rules/test_masks.py), written by jaxgrad.port for torch 2.13."""

import jax
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class Contrast(nnx.Module):
    """Similarities of each row with the other rows, as in a contrastive loss.

    Contrast (rules/test_masks.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        own = np.eye(h.shape[0], dtype=bool)
        scores = h @ h.T
        others = scores[~own].reshape(h.shape[0], -1)
        return jax.nn.logsumexp(others, axis=1) - scores[own]
