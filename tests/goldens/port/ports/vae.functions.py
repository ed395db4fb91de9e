"""JAX port of VAE (ports/vae.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def vae(p, x, condition, noise, *, rng=None, training=False):
    """VAE (ports/vae.py:0).

    x (N, 9), condition (N, 3), noise (N, 4) -> {logits (N, 9), posterior [(N, 4), (N, 4)],
    prior [(N, 4), (N, 4)]}.
    """
    h = encoder(p["encoder"], x, condition, rng=rng, training=training)
    mu, logvar = gaussian(p["posterior"], h)
    z = reparameterize(mu, logvar, noise)
    logits = decoder(p["decoder"], jnp.concatenate([z, condition], axis=-1))
    return {"logits": logits, "posterior": (mu, logvar), "prior": gaussian(p["prior"], condition)}


def encoder(p, x, condition, *, rng, training):
    """Encoder (ports/vae.py:0): x (N, 9), condition (N, 3) -> (N, 8)."""
    h = jnp.tanh(F.linear(jnp.concatenate([x, condition], axis=-1), **p["inp"]))
    for layer, layer_rng in zip(p["hidden"], split_rng(rng, len(p["hidden"]))):
        h = F.dropout(F.softplus(F.linear(h, **layer)), p=0.1, training=training, key=layer_rng)
    return h


def gaussian(p, h):
    """Return mean and log variance; the log variance starts at its upper bound, zero.

    Gaussian (ports/vae.py:0): h (N, D) -> mu (N, 4), logvar (N, 4).
    """
    return F.linear(h, **p["mu"]), F.clamp(F.linear(h, **p["logvar"]), min=-6.0, max=0.0)


def reparameterize(mu, logvar, noise):
    """VAE.reparameterize (ports/vae.py:0): mu (N, 4), logvar (N, 4), noise (N, 4) -> (N, 4)."""
    return mu + noise * jnp.exp(0.5 * logvar)


def decoder(p, x):
    """VAE.decoder (ports/vae.py:0): x (N, 7) -> (N, 9)."""
    x = F.linear(x, **p[0])
    x = F.elu(x)
    return F.linear(x, **p[2])


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
