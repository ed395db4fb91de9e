"""JAX port of Branches (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def branches(p, x):
    """Branches on the value of a tensor.

    Branches (interpretation/test_statements.py:0): x (N, 4) -> (3,).
    """
    h = F.linear(x, **p["inp"])

    def then(h):
        h = h * 2
        return h, h.mean(axis=0)

    h, y = lax.cond(h.sum() > 0, then, lambda h: (h, F.max(h, dim=0).values), h)
    return y + lax.cond(h.mean() > 1, lambda: h[0], lambda: h[1])
