"""JAX port of WaveNet (port_collection/sequence.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv1d, Embedding

F = functional.at("2.13")


class WaveNet(nnx.Module):
    """WaveNet (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.embed = Embedding(6, 4, rngs=rngs)
        self.filters = nnx.List(
            [
                Conv1d(4, 4, 2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=4, rngs=rngs),
            ]
        )
        self.gates = nnx.List(
            [
                Conv1d(4, 4, 2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=4, rngs=rngs),
            ]
        )
        self.residuals = nnx.List([Conv1d(4, 4, 1, rngs=rngs) for _ in range(3)])
        self.skips = nnx.List([Conv1d(4, 3, 1, rngs=rngs) for _ in range(3)])
        self.end = Conv1d(3, 6, 1, rngs=rngs)

    def __call__(self, codes):
        x = self.embed(codes).swapaxes(1, 2)
        total = 0
        padded = F.pad(x, (1, 0))
        z = jnp.tanh(self.filters[0](padded)) * jax.nn.sigmoid(self.gates[0](padded))
        total = total + self.skips[0](z)
        x = x + self.residuals[0](z)
        padded = F.pad(x, (2, 0))
        z = jnp.tanh(self.filters[1](padded)) * jax.nn.sigmoid(self.gates[1](padded))
        total = total + self.skips[1](z)
        x = x + self.residuals[1](z)
        padded = F.pad(x, (4, 0))
        z = jnp.tanh(self.filters[2](padded)) * jax.nn.sigmoid(self.gates[2](padded))
        total = total + self.skips[2](z)
        x = x + self.residuals[2](z)
        return self.end(jax.nn.relu(total))
