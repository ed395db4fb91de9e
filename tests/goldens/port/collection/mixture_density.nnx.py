"""JAX port of MixtureDensity (port_collection/structured.py), written by jaxgrad.port for torch
  2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class MixtureDensity(nnx.Module):
    """MixtureDensity (port_collection/structured.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.hidden = Linear(2, 4, rngs=rngs)
        self.pi = Linear(4, 3, rngs=rngs)
        self.mu = Linear(4, 3, rngs=rngs)
        self.sigma = Linear(4, 3, rngs=rngs)

    def __call__(self, x, y):
        h = jnp.tanh(self.hidden(x))
        log_pi = jax.nn.log_softmax(self.pi(h), axis=-1)
        mu = self.mu(h)
        sigma = F.softplus(self.sigma(h)) + 0.001
        log_prob = -0.5 * jnp.square((y - mu) / sigma) - jnp.log(sigma)
        return -jax.nn.logsumexp(log_pi + log_prob, axis=-1).mean()
