"""JAX port of BrokenOff (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- t != 3 (test_lengths.py:0)
- t == 3 (test_lengths.py:0)
- the loop runs 4 times (test_lengths.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class BrokenOff(nnx.Module):
    """BrokenOff (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.linear(x[:, 0])
        assert len(range(x.shape[1])) >= 4, (
            "this port holds for a loop that runs 4 times, as in the example"
        )
        y = jnp.tanh(self.linear(y))
        y = jnp.tanh(self.linear(y))
        return jnp.tanh(self.linear(y))
