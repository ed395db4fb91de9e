"""JAX port of Highway (port_collection/sequence.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Highway(nnx.Module):
    """Highway (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.num_layers = 2
        self.nonlinear = nnx.List([Linear(5, 5, rngs=rngs) for _ in range(2)])
        self.linear = nnx.List([Linear(5, 5, rngs=rngs) for _ in range(2)])
        self.gate = nnx.List([Linear(5, 5, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        for layer in range(self.num_layers):
            gate = jax.nn.sigmoid(self.gate[layer](x))
            nonlinear = jax.nn.relu(self.nonlinear[layer](x))
            linear = self.linear[layer](x)
            x = gate * nonlinear + (1 - gate) * linear
        return x
