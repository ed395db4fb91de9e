"""JAX port of Running (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

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


def running(p, x, *, training=False):
    """A buffer that gets a new tensor in train mode, as the counts of a codebook do.

    Running (statements/test_stores.py:0): x (N, 4) -> (N, 4), updated p.
    """
    p = dict(p)
    if training:
        p["mean"] = 0.9 * p["mean"] + 0.1 * lax.stop_gradient(x).mean(axis=0)
    return F.linear(x - p["mean"], **p["layer"]), p
