"""JAX port of Mixed (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def mixed(p, x):
    """Mixed (nnx/test_submodules.py:0): x (N, 4) -> (N, 5)."""
    return gated(p["second"], gated(p["first"], x))


def gated(p, x):
    """A statement of its own calls the submodule.

    Gated (nnx/test_submodules.py:0): x (N, D) -> (N, 5).
    """
    x = F.linear(x, **p["lin"])
    if "norm" in p:
        x = F.layer_norm(x, x.shape[-1:], **p["norm"])
    return jax.nn.sigmoid(x)
