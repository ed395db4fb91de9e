"""JAX port of Counted (expressions/test_positions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: ptr.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def counted(p, x):
    """The number is computed with and stored, and begins no slice.

    Counted (expressions/test_positions.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = dict(p)
    step = p["ptr"][0]
    step += 1
    p["ptr"] = p["ptr"].at[0].set(step)
    return F.linear(x, **p["linear"]), p
