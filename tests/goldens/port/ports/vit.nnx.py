"""JAX port of VisionTransformer (ports/vit.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv2d, Dropout, LayerNorm, Linear, MultiheadAttention

F = functional.at("2.13")


class VisionTransformer(nnx.Module):
    """VisionTransformer (ports/vit.py:0).

    `jaxgrad.nnx.load_state_dict` sets `cls_token` and `pos_embed`, which the constructor leaves
    as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.cls_token = nnx.Param(jnp.empty((1, 1, 16), jnp.float64))
        self.pos_embed = nnx.Param(jnp.empty((1, 10, 16), jnp.float64))
        self.patch_embed = Conv2d(3, 16, 4, stride=4, dtype=jnp.float64, rngs=rngs)
        self.blocks = nnx.Sequential(EncoderBlock(rngs=rngs), EncoderBlock(rngs=rngs))
        self.norm = LayerNorm(16, dtype=jnp.float64)
        self.head = Linear(16, 5, dtype=jnp.float64, rngs=rngs)
        self.reverse = GradientReversal()
        self.domain_head = nnx.Sequential(
            Linear(16, 8, dtype=jnp.float64, rngs=rngs),
            jax.nn.relu,
            Linear(8, 2, dtype=jnp.float64, rngs=rngs),
        )

    def __call__(self, images):
        patch_embed = self.patch_embed(images)
        x = patch_embed.reshape(*patch_embed.shape[:2], -1).swapaxes(1, 2)
        y = jnp.broadcast_to(self.cls_token[...], (x.shape[0], *self.cls_token[...].shape[1:]))
        x = jnp.concatenate([y, x], axis=1) + self.pos_embed[...]
        x = self.norm(self.blocks(x))[:, 0]
        return {"classes": self.head(x), "domain": self.domain_head(self.reverse(x))}


class EncoderBlock(nnx.Module):
    """EncoderBlock (ports/vit.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm1 = LayerNorm(16, dtype=jnp.float64)
        self.attn = MultiheadAttention(
            16, 4, dropout=0.1, batch_first=True, dtype=jnp.float64, rngs=rngs
        )
        self.norm2 = LayerNorm(16, dtype=jnp.float64)
        self.mlp = nnx.Sequential(
            Linear(16, 32, dtype=jnp.float64, rngs=rngs),
            F.gelu,
            Dropout(0.1, rngs=rngs),
            Linear(32, 16, dtype=jnp.float64, rngs=rngs),
        )

    def __call__(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class GradientReversal(nnx.Module):
    """GradientReversal (ports/vit.py:0)."""

    def __init__(self):
        self.alpha = 0.5

    def __call__(self, x):
        return Reverse(x, self.alpha)


@jaxgrad.from_function
class Reverse:
    """Reverse (ports/vit.py:0)."""

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.alpha * grad, None
