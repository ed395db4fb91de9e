"""JAX port of LayersOfOneLength (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 4 times (test_lengths.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def layers_of_one_length(p, x):
    """LayersOfOneLength (values/test_lengths.py:0): x (N, 4, 4) -> (N, 4)."""
    assert len(jnp.unstack(x, axis=1)) == 4, (
        "this port holds for a loop that runs 4 times, as in the example"
    )
    x = jnp.unstack(x, axis=1)
    y = 0 + F.linear(x[0], **p["layers"][0])
    y = y + jnp.tanh(x[1])
    y = y + F.linear(x[2], **p["layers"][2])
    return y + x[3]
