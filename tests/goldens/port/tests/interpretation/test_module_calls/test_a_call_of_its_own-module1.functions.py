"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x):
    """torch.nn.Sequential: x (N, 4) -> (N, 3)."""
    x = unit(p[0], x)
    return doubled(p[1], x)


def unit(p, x):
    """Unit.__call__ (interpretation/test_module_calls.py:0): x (N, 4) -> (N, 4)."""
    return jnp.tanh(F.linear(x, **p["fc"]))


def doubled(p, x):
    """Doubled.__call__ (interpretation/test_module_calls.py:0): x (N, 4) -> (N, 3)."""
    return F.linear(x, **p) * 2
