"""JAX port of Autoencoder (values/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def autoencoder(p, x):
    """A network whose encoder returns a record of an object, as the VAE of diffusers does.

    Autoencoder (values/test_results.py:0): x (N, 3) -> (N, 3).
    """
    latent = encode(p, x)["latent"]
    return F.linear(latent["mean"] * jnp.exp(latent["logvar"]), **p["decoder"])


def encode(p, x):
    """Autoencoder.encode (values/test_results.py:0).

    x (N, 3) -> {latent {mean (N, 2), logvar (N, 2)}}.
    """
    parameters = jnp.tanh(F.linear(x, **p["encoder"]))
    mean, logvar = jnp.split(parameters, 2, axis=-1)
    return {"latent": {"mean": mean, "logvar": logvar, "name": "latent"}}
