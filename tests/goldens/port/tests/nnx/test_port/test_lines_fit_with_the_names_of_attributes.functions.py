"""JAX port of Heads (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def heads(p, x):
    """Heads (nnx/test_port.py:0): x (b, n, 8) -> (b, 2, n, 4)."""
    b, n, d = x.shape
    q = F.linear(x, **p["query"]).reshape(b, n, 2, d // 2).swapaxes(1, 2)
    k = F.linear(x, **p["key"]).reshape(b, n, 2, d // 2).swapaxes(1, 2)
    v = F.linear(x, **p["value"]).reshape(b, n, 2, d // 2).swapaxes(1, 2)
    return jax.nn.softmax(q @ k.mT / 2.0, axis=-1) @ v
