"""JAX port of UNet (ports/unet.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def unet(p, x, *, rng=None, training=False):
    """UNet (ports/unet.py:0): x (N, 2, H, W) -> (N, 3, H, W)."""
    x1 = double_conv(p["inc"], x)
    x2 = down(p["down1"], x1)
    x3 = down(p["down2"], x2)
    x = up(p["up2"], up(p["up1"], x3, x2), x1)
    x = F.dropout2d(unet_refine(p["refine"], x), p=0.1, training=training, key=rng)
    return F.conv2d(x, **p["outc"])


def down(p, x):
    """Down (ports/unet.py:0): x (N, C, H, W) -> (N, 12, H', W')."""
    return double_conv(p["conv"], F.max_pool2d(x, 2, stride=2))


def up(p, x, skip):
    """Up (ports/unet.py:0): x (N, 12, H, W), skip (N, C, H', W') -> (N, C, H', W')."""
    if "up" in p:
        x = F.conv_transpose2d(x, **p["up"], stride=2, padding=1)
    else:
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
    return double_conv(p["conv"], jnp.concatenate([skip, x], axis=1))


def double_conv(p, x):
    """DoubleConv (ports/unet.py:0): x (N, C, H, W) -> (N, C', H, W)."""
    x = F.conv2d(x, **p["double_conv"][0], padding=1)
    x = F.group_norm(x, 2, **p["double_conv"][1])
    x = jax.nn.silu(x)
    x = F.conv2d(x, **p["double_conv"][3], padding=1)
    x = F.group_norm(x, 2, **p["double_conv"][4])
    return jax.nn.silu(x)


def unet_refine(p, x):
    """UNet.refine (ports/unet.py:0): x (N, 6, H, W) -> (N, 6, H, W)."""
    for module in p:
        x = refine(module, x)
    return x


def refine(p, x):
    """A residual layer; the refinement stacks several of them.

    Refine (ports/unet.py:0): x (N, 6, H, W) -> (N, 6, H, W).
    """
    return x + F.conv2d(jax.nn.silu(F.group_norm(x, 2, **p["norm"])), **p["conv"])
