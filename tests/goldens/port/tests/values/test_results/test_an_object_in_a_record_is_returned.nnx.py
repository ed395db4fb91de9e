"""JAX port of Autoencoder (values/test_results.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Autoencoder(nnx.Module):
    """A network whose encoder returns a record of an object, as the VAE of diffusers does.

    Autoencoder (values/test_results.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.encoder = Linear(3, 4, rngs=rngs)
        self.decoder = Linear(2, 3, rngs=rngs)

    def __call__(self, x):
        latent = self.encode(x)["latent"]
        return self.decoder(latent["mean"] * jnp.exp(latent["logvar"]))

    def encode(self, x):
        parameters = jnp.tanh(self.encoder(x))
        mean, logvar = jnp.split(parameters, 2, axis=-1)
        return {"latent": {"mean": mean, "logvar": logvar, "name": "latent"}}
