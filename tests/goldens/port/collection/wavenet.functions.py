"""JAX port of WaveNet (port_collection/sequence.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def wavenet(p, codes):
    """WaveNet (port_collection/sequence.py:0): codes (N, L) int -> (N, 6, L)."""
    x = F.embedding(codes, **p["embed"]).swapaxes(1, 2)
    total = 0
    for i, dilation in enumerate((1, 2, 4)):
        padded = F.pad(x, (dilation, 0))
        z = jax.nn.sigmoid(F.conv1d(padded, **p["gates"][i], dilation=dilation))
        z = jnp.tanh(F.conv1d(padded, **p["filters"][i], dilation=dilation)) * z
        total = total + F.conv1d(z, **p["skips"][i])
        x = x + F.conv1d(z, **p["residuals"][i])
    return F.conv1d(jax.nn.relu(total), **p["end"])
