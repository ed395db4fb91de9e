"""JAX port of Contrast (rules/test_masks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def contrast(p, x):
    """Similarities of each row with the other rows, as in a contrastive loss.

    Contrast (rules/test_masks.py:0): x (N, 4) -> (N,).
    """
    h = F.linear(x, **p["fc"])
    own = np.eye(h.shape[0], dtype=bool)
    scores = h @ h.T
    others = scores[~own].reshape(h.shape[0], -1)
    return jax.nn.logsumexp(others, axis=1) - scores[own]
