"""JAX port of Blurred (proof/test_proofs.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: window.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def blurred_forward(p, a, b):
    """A loss without weights, whose filter is a plain attribute.

    Blurred (proof/test_proofs.py:0): a (N, 1, H, W), b (N, 1, H, W) -> ().
    """
    blurred = F.conv2d(a, p["window"], padding=1)
    return jnp.square(blurred - F.conv2d(b, p["window"], padding=1)).mean()
