"""JAX port of Kind (port/test_leftovers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: count.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def an_integer_buffer(p, x):
    """Kind.an_integer_buffer (port/test_leftovers.py:0): x (N, 3) -> (N, 2), updated p."""
    p = dict(p)
    y = F.linear(x, **p["fc"])
    p["count"] = p["count"] + 2
    return y, p
