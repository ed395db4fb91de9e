"""JAX port of Parts (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def parts(p, x):
    """Parts (expressions/test_indexing.py:0): x (N, 4) -> (N, 4)."""
    y = jax.nn.silu(F.layer_norm(x, x.shape[-1:], **p["layers"][0]))
    return F.linear(y, **p["layers"][2]) + F.linear(x, **p["layers"][2])
