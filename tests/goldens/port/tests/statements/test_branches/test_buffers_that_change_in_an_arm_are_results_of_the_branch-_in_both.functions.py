"""JAX port of Counts (statements/test_branches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: good, total.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def counts(p, x):
    """Counts (statements/test_branches.py:0): x (N, 4) -> (N, 4), updated p."""
    x, p = in_both(p, F.linear(x, **p["fc"]))
    return x, p


def in_both(p, h):
    """_in_both (statements/test_branches.py:0): h (N, 4) -> (N, 4), updated p."""
    p = dict(p)

    def then(h, p):
        p = dict(p)
        h = h * 2
        p["good"] = p["good"] + 1
        p["total"] = p["total"] + p["good"]
        return h, p["good"], p["total"]

    y = F.all(jnp.isfinite(h))
    h, p["good"], p["total"] = lax.cond(
        y, then, lambda h, p: (h, p["good"], p["total"] + lax.stop_gradient(h).sum(axis=0)), h, p
    )
    return h, p
