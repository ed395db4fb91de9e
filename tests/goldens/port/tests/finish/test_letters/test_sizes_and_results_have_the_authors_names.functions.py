"""JAX port of Net (finish/test_letters.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, images):
    """Net (finish/test_letters.py:0): images (batch, 3, H, W) -> (batch,)."""
    batch = images.shape[0]
    x = unit(p["first"], images, stride=2)
    mean, std = moments(unit(p["second"], x).reshape(batch, -1))
    return mean / std


def unit(conv, x, *, stride=1):
    """Net.unit (finish/test_letters.py:0): x (batch, C, H, W) -> (batch, 4, H', W')."""
    return jnp.tanh(F.conv2d(x, **conv, stride=stride))


def moments(x):
    """Net.moments (finish/test_letters.py:0): x (batch, L) -> (batch,), (batch,)."""
    return x.mean(axis=1), jnp.exp(F.std(x, dim=1))
