"""JAX port of Reads (statements/test_holes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

To be written by hand: by_hand (test_holes.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def reads(p, x, mask, *, training=False):
    """Reads (statements/test_holes.py:0): x (N, 3), mask (N,) bool -> (N, 2)."""
    h = F.linear(x, **p["fc"])
    if training:
        # the loudest
        loud = by_hand(h, mask)
        h = h - loud
    return F.linear(jnp.tanh(h), **p["out"])


def by_hand(h, mask):
    """Write by hand what line 0 of test_holes.py does: `loud = h[mask].mean()`. It returns loud:
    float32[].
    """
    raise NotImplementedError(
        "test_holes.py:0 `loud = h[mask].mean()`: a mask as an index makes a size that depends "
        "on values; use torch.where"
    )
