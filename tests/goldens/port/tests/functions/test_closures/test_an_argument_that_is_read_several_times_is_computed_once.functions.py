"""JAX port of Nested (functions/test_closures.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def nested(p, x):
    """Calls nested functions, one of which reads its argument several times.

    Nested (functions/test_closures.py:0): x (N, L, 4) -> (N, L, 2, 2).
    """
    y = F.linear(x, **p["query"])
    y_2 = jnp.flip(F.linear(x, **p["key"]), axis=0)
    return y.reshape(y.shape[0], y.shape[1], 2, 2) * y_2.reshape(y_2.shape[0], y_2.shape[1], 2, 2)
