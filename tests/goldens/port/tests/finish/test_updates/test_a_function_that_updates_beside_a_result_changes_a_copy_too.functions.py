"""JAX port of Counting (finish/test_updates.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: count.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from jax import lax


def counting(p, x):
    """A buffer gets a value from a branch, beside the result of the branch.

    Counting (finish/test_updates.py:0): x (N, L) -> (N, L), updated p.
    """
    p = dict(p)

    def then(x):
        return x * 2, p["count"] + 1

    x, p["count"] = lax.cond(x.sum() > 0, then, lambda x: (x, p["count"]), x)
    return x, p
