"""JAX port of Heads (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def heads(p, x, *, parts=4, head_dim=2):
    """Heads (merging/test_numbers.py:0): x (b, n, 8) -> (b, n, 8)."""
    b, n, _ = x.shape
    x = F.linear(x, **p["fc"]).reshape(b, n, parts, head_dim)
    x = x * head_dim**-0.5
    x = jax.nn.softmax(x, axis=-1) + 1e-6
    return x.reshape(b, n, parts * head_dim)
