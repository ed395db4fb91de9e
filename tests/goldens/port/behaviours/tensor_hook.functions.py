"""JAX port of TensorHook (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def tensor_hook(p, x):
    """TensorHook (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    h = jaxgrad.hook(h, lambda grad: F.clamp(grad, min=-0.1, max=0.1))
    return F.linear(h, **p["outer"])
