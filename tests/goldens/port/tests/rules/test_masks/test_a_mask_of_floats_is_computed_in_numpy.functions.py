"""JAX port of Upper (rules/test_masks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def upper_forward(p, x):
    """The mask is computed from floats, as an index after a slice.

    Upper (rules/test_masks.py:0): x (N, 4) -> (1, L').
    """
    h = F.linear(x, **p["fc"])
    scores = h @ h.T
    upper = jnp.ones_like(scores)
    upper = jnp.triu(upper, 1)
    return scores[None][:, np.triu(np.ones(scores.shape, dtype=scores.dtype), 1) > 0]
