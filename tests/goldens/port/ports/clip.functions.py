"""JAX port of CLIP (ports/clip.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def clip(p, image, tokens):
    """CLIP (ports/clip.py:0): image (N, 6), tokens (N, L) int -> (N, N)."""
    image = F.normalize(image_forward(p["image"], image), dim=-1)
    end = F.embedding(tokens, **p["embedding"])[jnp.arange(tokens.shape[0]), tokens.argmax(axis=-1)]
    text = F.normalize(F.linear(end, **p["text"]), dim=-1)
    return (jnp.exp(F.clamp(p["scale"], max=4.6)) * image) @ text.T


def image_forward(p, x):
    """CLIP.image (ports/clip.py:0): x (N, 6) -> (N, 5)."""
    x = F.linear(x, **p[0])
    x = F.gelu(x)
    return F.linear(x, **p[2])
