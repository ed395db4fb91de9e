"""JAX port of ByName (calls/test_module_methods.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: scale.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def by_name(p, x):
    """ByName (calls/test_module_methods.py:0): x (N, 4) -> (N, 4)."""
    x = jnp.tanh(F.linear(x, **p["layer_0"]))
    x = jnp.tanh(F.linear(x, **p["layer_1"][0]))
    x = F.linear(x, **p["layer_1"][0]) * p["scale"]
    return x + 2
