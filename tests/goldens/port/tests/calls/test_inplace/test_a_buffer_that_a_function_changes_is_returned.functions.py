"""JAX port of Averages (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: mean.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def averages(p, x):
    """A function changes a buffer that is its argument, as moving averages of codes do.

    Averages (calls/test_inplace.py:0): x (N, 4) -> (N, 4), updated p.
    """
    p = dict(p)
    h = F.linear(x, **p["fc"])
    new = lax.stop_gradient(h).mean(axis=0)
    p["mean"] = F.lerp(p["mean"], new, 0.2)
    return h * 2, p
