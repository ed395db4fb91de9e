"""JAX port of CLIP (ports/clip.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Embedding, Linear

F = functional.at("2.13")


class CLIP(nnx.Module):
    """CLIP (ports/clip.py:0).

    `jaxgrad.nnx.load_state_dict` sets `scale`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = nnx.Param(jnp.empty((), jnp.float64))
        self.image = nnx.Sequential(
            Linear(6, 5, dtype=jnp.float64, rngs=rngs),
            F.gelu,
            Linear(5, 5, dtype=jnp.float64, rngs=rngs),
        )
        self.embedding = Embedding(9, 5, dtype=jnp.float64, rngs=rngs)
        self.text = Linear(5, 5, bias=False, dtype=jnp.float64, rngs=rngs)

    def __call__(self, image, tokens):
        image = F.normalize(self.image(image), dim=-1)
        end = self.embedding(tokens)[jnp.arange(tokens.shape[0]), tokens.argmax(axis=-1)]
        text = F.normalize(self.text(end), dim=-1)
        return (jnp.exp(F.clamp(self.scale[...], max=4.6)) * image) @ text.T
