"""JAX port of VQVAE (port_collection/generative.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Embedding, Linear

F = functional.at("2.13")


class VQVAE(nnx.Module):
    """VQVAE (port_collection/generative.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.encoder = Encoder(in_features=6, out_features=3, rngs=rngs)
        self.quantizer = VectorQuantizer(rngs=rngs)
        self.decoder = Encoder(in_features=3, out_features=6, rngs=rngs)

    def __call__(self, x):
        vq = self.quantizer(self.encoder(x))
        recon = self.decoder(vq["quantized"])
        return F.mse_loss(recon, x) + vq["loss"], recon, vq["perplexity"]


class Encoder(nnx.Module):
    """VQVAE.decoder and VQVAE.encoder (port_collection/generative.py:0)."""

    def __init__(self, in_features, out_features, *, rngs: nnx.Rngs):
        self.fc1 = Linear(in_features, 4, rngs=rngs)
        self.fc2 = Linear(4, out_features, rngs=rngs)

    def __call__(self, x):
        x = self.fc1(x)
        x = jax.nn.relu(x)
        return self.fc2(x)


class VectorQuantizer(nnx.Module):
    """VectorQuantizer (port_collection/generative.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.num_embeddings = 5
        self.commitment_cost = 0.25
        self._embedding = Embedding(5, 3, rngs=rngs)

    def __call__(self, inputs):
        # Calculate distances
        distances = (
            (inputs**2).sum(axis=1, keepdims=True)
            + (self._embedding.weight[...] ** 2).sum(axis=1)
            - 2 * (inputs @ self._embedding.weight[...].T)
        )
        # Encoding
        indices = distances.argmin(axis=1)
        one_hot = jax.nn.one_hot(indices, self.num_embeddings, dtype=inputs.dtype)
        quantized = one_hot @ self._embedding.weight[...]
        # Loss
        e_latent_loss = F.mse_loss(lax.stop_gradient(quantized), inputs)
        q_latent_loss = F.mse_loss(quantized, lax.stop_gradient(inputs))
        loss = q_latent_loss + self.commitment_cost * e_latent_loss
        quantized = inputs + lax.stop_gradient(quantized - inputs)
        avg_probs = one_hot.mean(axis=0)
        perplexity = jnp.exp(-(avg_probs * jnp.log(avg_probs + 1e-10)).sum())
        return {"loss": loss, "quantized": quantized, "perplexity": perplexity}
