"""JAX port of MixtureDensity (port_collection/structured.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def mixture_density(p, x, y):
    """MixtureDensity (port_collection/structured.py:0): x (N, 2), y (N, 1) -> ()."""
    h = jnp.tanh(F.linear(x, **p["hidden"]))
    log_pi = jax.nn.log_softmax(F.linear(h, **p["pi"]), axis=-1)
    mu = F.linear(h, **p["mu"])
    sigma = F.softplus(F.linear(h, **p["sigma"])) + 0.001
    log_prob = -0.5 * jnp.square((y - mu) / sigma) - jnp.log(sigma)
    return -jax.nn.logsumexp(log_pi + log_prob, axis=-1).mean()
