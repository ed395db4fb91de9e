"""JAX port of BetaVAE (port_collection/generative.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class BetaVAE(nnx.Module):
    """BetaVAE (port_collection/generative.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.beta = 4.0
        self.enc = Linear(5, 4, rngs=rngs)
        self.dec = Linear(2, 5, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        mu, logvar = jnp.split(self.enc(x), 2, axis=-1)
        recon = self.reparameterize(mu, None if self.deterministic else logvar)
        recon = jax.nn.sigmoid(self.dec(recon))
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        kld = -0.5 * (1 + logvar - mu**2 - jnp.exp(logvar)).sum()
        return bce + self.beta * kld, mu, logvar

    def reparameterize(self, mu, logvar):
        if not self.deterministic:
            std = jnp.exp(0.5 * logvar)
            normal_rng = self.rngs()
            eps = jax.random.normal(normal_rng, std.shape, std.dtype)
            return mu + eps * std
        return mu
