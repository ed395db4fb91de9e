"""JAX port of Traced (torch.fx.graph_module), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def traced(p, x):
    """Traced (source/test_source.py:0 in forward:4): x (N, 4) -> (N, 3)."""
    fc = F.linear(x, **p["fc"])
    tanh = jnp.tanh(fc)
    return tanh * 2
