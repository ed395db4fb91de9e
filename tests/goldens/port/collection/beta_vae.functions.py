"""JAX port of BetaVAE (port_collection/generative.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def beta_vae(p, x, *, beta=4.0, rng=None, training=False):
    """BetaVAE (port_collection/generative.py:0): x (N, 5) -> (), mu (N, 2), logvar (N, 2)."""
    mu, logvar = jnp.split(F.linear(x, **p["enc"]), 2, axis=-1)
    recon = reparameterize(mu, logvar, rng=rng, training=training)
    recon = jax.nn.sigmoid(F.linear(recon, **p["dec"]))
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * (1 + logvar - mu**2 - jnp.exp(logvar)).sum()
    return bce + beta * kld, mu, logvar


def reparameterize(mu, logvar, *, rng, training):
    """BetaVAE.reparameterize (port_collection/generative.py:0).

    mu (N, 2), logvar (N, 2) -> (N, 2).
    """
    if training:
        std = jnp.exp(0.5 * logvar)
        eps = jax.random.normal(rng, std.shape, std.dtype)
        return mu + eps * std
    return mu
