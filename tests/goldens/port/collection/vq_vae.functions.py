"""JAX port of VQVAE (port_collection/generative.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def vqvae(p, x):
    """VQVAE (port_collection/generative.py:0).

    x (N, 6) -> loss (), recon (N, 6), perplexity ().
    """
    vq = vector_quantizer(p["quantizer"], mlp(p["encoder"], x))
    recon = mlp(p["decoder"], vq["quantized"])
    return F.mse_loss(recon, x) + vq["loss"], recon, vq["perplexity"]


def vector_quantizer(p, inputs, *, num_embeddings=5, commitment_cost=0.25):
    """VectorQuantizer (port_collection/generative.py:0).

    inputs (N, 3) -> {loss (), quantized (N, 3), perplexity ()}.
    """
    # Calculate distances
    distances = (
        (inputs**2).sum(axis=1, keepdims=True)
        + (p["_embedding"]["weight"] ** 2).sum(axis=1)
        - 2 * (inputs @ p["_embedding"]["weight"].T)
    )
    # Encoding
    indices = distances.argmin(axis=1)
    one_hot = jax.nn.one_hot(indices, num_embeddings, dtype=inputs.dtype)
    quantized = one_hot @ p["_embedding"]["weight"]
    # Loss
    e_latent_loss = F.mse_loss(lax.stop_gradient(quantized), inputs)
    q_latent_loss = F.mse_loss(quantized, lax.stop_gradient(inputs))
    loss = q_latent_loss + commitment_cost * e_latent_loss
    quantized = inputs + lax.stop_gradient(quantized - inputs)
    avg_probs = one_hot.mean(axis=0)
    perplexity = jnp.exp(-(avg_probs * jnp.log(avg_probs + 1e-10)).sum())
    return {"loss": loss, "quantized": quantized, "perplexity": perplexity}


def mlp(p, x):
    """VQVAE.decoder and VQVAE.encoder (port_collection/generative.py:0): x (N, D) -> (N, D')."""
    x = F.linear(x, **p["fc1"])
    x = jax.nn.relu(x)
    return F.linear(x, **p["fc2"])
