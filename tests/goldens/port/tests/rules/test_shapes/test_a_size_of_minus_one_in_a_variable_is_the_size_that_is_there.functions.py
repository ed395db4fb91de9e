"""JAX port of Expanded (rules/test_shapes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def expanded(p, x):
    """The sizes are in a variable, as `torch.fx` writes them.

    Expanded (rules/test_shapes.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["fc"])
    sizes = (h.shape[0],)
    sizes = sizes[0], -1
    return jnp.broadcast_to(h[:1], (sizes[0], h[:1].shape[1])) * h
