"""JAX port of OverTime (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def over_time(p, x, y):
    """A recurrence behind a convolution with a stride, with a loss that refuses other lengths.

    OverTime (loops/test_loop_statements.py:0): x (N, L, 3), y (N, D) -> ().

    JAX unrolls `for t in range(x.shape[1])` and `for row in jnp.unstack(x, axis=1)`, so compile
    time grows with the number of iterations; use lax.scan for long inputs.
    """
    x = F.conv1d(x.swapaxes(1, 2), **p["front"], stride=2, padding=1).swapaxes(1, 2)
    h = jnp.zeros((x.shape[0], 4), dtype=x.dtype)
    for t in range(x.shape[1]):
        h = jnp.tanh(h + x[:, t])
    for layer in p["layers"]:
        h = F.linear(h, **layer)
    for power in jnp.linspace(1.0, 2.0, 3):
        h = h * power
    for part in jnp.split(h, list(range(2, h.shape[1], 2)), axis=1):
        h = h + part.sum()
    h = h + jnp.stack([jnp.square(row) for row in jnp.unstack(x, axis=1)]).sum()
    return jnp.square(h - y[:, :4]).mean()
