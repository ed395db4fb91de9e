"""JAX port of BrokenOff (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- t != 3 (test_lengths.py:0)
- t == 3 (test_lengths.py:0)
- the loop runs 4 times (test_lengths.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def broken_off(p, x):
    """BrokenOff (values/test_lengths.py:0): x (N, L, 4) -> (N, 4)."""
    y = F.linear(x[:, 0], **p["linear"])
    assert len(range(x.shape[1])) >= 4, (
        "this port holds for a loop that runs 4 times, as in the example"
    )
    y = jnp.tanh(F.linear(y, **p["linear"]))
    y = jnp.tanh(F.linear(y, **p["linear"]))
    return jnp.tanh(F.linear(y, **p["linear"]))
