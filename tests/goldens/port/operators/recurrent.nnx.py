"""JAX port of Recurrent (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import GRU


class Recurrent(nnx.Module):
    """Recurrent (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.rnn = GRU(3, 2, num_layers=2, batch_first=True, bidirectional=True, rngs=rngs)

    def __call__(self, x):
        out, hidden = self.rnn(x)
        return out.sum(axis=1) + jnp.tile(hidden.sum(axis=0), (1, 2))
