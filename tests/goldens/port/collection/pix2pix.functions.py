"""JAX port of Pix2PixGenerator (port_collection/vision.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def pix2pix_generator(p, x, *, rng=None, training=False):
    """Pix2PixGenerator (port_collection/vision.py:0): x (N, 3, H, W) -> (N, 3, H, W)."""
    d1 = down1(p["down1"], x)
    d2 = down2(p["down2"], d1)
    d3 = down3(p["down3"], d2, rng=rng, training=training)
    u1 = up(p["up1"], d3, d2)
    return final(p["final"], up(p["up2"], u1, d1))


def down1(p, x):
    """Down (port_collection/vision.py:0): x (N, 3, H, W) -> (N, 2, H//2, W//2)."""
    x = F.conv2d(x, **p["model"][0], stride=2, padding=1)
    return F.leaky_relu(x, negative_slope=0.2)


def down2(p, x):
    """Down (port_collection/vision.py:0): x (N, 2, H//2, W//2) -> (N, 4, H//4, W//4)."""
    x = F.conv2d(x, **p["model"][0], stride=2, padding=1)
    x = F.instance_norm(x)
    return F.leaky_relu(x, negative_slope=0.2)


def down3(p, x, *, rng, training):
    """Down (port_collection/vision.py:0): x (N, 4, H//4, W//4) -> (N, 4, H//8, W//8)."""
    x = F.conv2d(x, **p["model"][0], stride=2, padding=1)
    x = F.instance_norm(x)
    x = F.leaky_relu(x, negative_slope=0.2)
    return F.dropout(x, p=0.5, training=training, key=rng)


def up(p, x, skip_input):
    """Up (port_collection/vision.py:0).

    x (N, C, H, W), skip_input (N, C', H', W') -> (N, C'', H', W').
    """
    x = F.conv_transpose2d(x, **p["model"][0], stride=2, padding=1)
    x = F.instance_norm(x)
    x = jax.nn.relu(x)
    return jnp.concatenate((x, skip_input), axis=1)


def final(p, x):
    """Pix2PixGenerator.final (port_collection/vision.py:0).

    x (N, 4, H//2, W//2) -> (N, 3, H, W).
    """
    x = F.interpolate(x, scale_factor=2)
    x = F.pad(x, (1, 0, 1, 0))
    x = F.conv2d(x, **p[2], padding=1)
    return jnp.tanh(x)
