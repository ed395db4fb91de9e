"""JAX port of Own (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: seen, scale, table.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def own(p, x, *, training=False):
    """A module with parameters, a buffer that changes, and two that torch does not save.

    Own (nnx/test_port.py:0): x (4, 3) -> (4, 3), updated p.
    """
    p = dict(p)
    if training:
        p["seen"] = p["seen"] + lax.stop_gradient(x).mean(axis=0)
    x = x * p["scale"] + p["table"][:4] + p["seen"]
    x = x @ p["weights"]["0"] @ p["weights"]["1"] + p["shift"]
    x = F.linear(x, **p["gates"]["a"]) * jax.nn.sigmoid(F.linear(x, **p["gates"]["b"]))
    return x, p
