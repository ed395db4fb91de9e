"""JAX port of VAE (ports/vae.py), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Dropout, Linear

F = functional.at("2.13")


class VAE(nnx.Module):
    """VAE (ports/vae.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.encoder = Encoder(rngs=rngs)
        self.posterior = Gaussian(in_features=8, rngs=rngs)
        self.prior = Gaussian(in_features=3, rngs=rngs)
        self.decoder = nnx.Sequential(
            Linear(7, 8, dtype=jnp.float64, rngs=rngs),
            F.elu,
            Linear(8, 9, dtype=jnp.float64, rngs=rngs),
        )

    def __call__(self, x, condition, noise):
        mu, logvar = self.posterior(self.encoder(x, condition))
        z = self.reparameterize(mu, logvar, noise)
        logits = self.decoder(jnp.concatenate([z, condition], axis=-1))
        return {"logits": logits, "posterior": (mu, logvar), "prior": self.prior(condition)}

    def reparameterize(self, mu, logvar, noise):
        return mu + noise * jnp.exp(0.5 * logvar)


class Encoder(nnx.Module):
    """Encoder (ports/vae.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inp = Linear(12, 8, dtype=jnp.float64, rngs=rngs)
        self.hidden = nnx.List([Linear(8, 8, dtype=jnp.float64, rngs=rngs) for _ in range(2)])
        self.dropout = Dropout(0.1, rngs=rngs)

    def __call__(self, x, condition):
        h = jnp.tanh(self.inp(jnp.concatenate([x, condition], axis=-1)))
        for layer in self.hidden:
            h = self.dropout(F.softplus(layer(h)))
        return h


class Gaussian(nnx.Module):
    """Return mean and log variance; the log variance starts at its upper bound, zero.

    Gaussian (ports/vae.py:0).
    """

    def __init__(self, in_features, *, rngs: nnx.Rngs):
        self.mu = Linear(in_features, 4, dtype=jnp.float64, rngs=rngs)
        self.logvar = Linear(in_features, 4, dtype=jnp.float64, rngs=rngs)
        self.logvar.weight[...] = jnp.zeros_like(self.logvar.weight[...])

    def __call__(self, h):
        return self.mu(h), F.clamp(self.logvar(h), min=-6.0, max=0.0)
