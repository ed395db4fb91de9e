"""JAX port of Statistics (nnx/test_state_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: mean.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def statistics(p, x):
    """Statistics (nnx/test_state_maps.py:0): x (N, 4) -> (N, 3), updated p."""
    x = F.linear(x, **p["linear"])
    p = keep(p, x)
    return x - p["mean"], p


def keep(p, x):
    """Statistics.keep (nnx/test_state_maps.py:0): x (N, 3) -> updated p."""
    p = dict(p)
    p["mean"] = p["mean"] * 0.9
    p["mean"] = F.add(p["mean"], lax.stop_gradient(x).mean(axis=0), alpha=0.1)
    return p
