"""JAX port of Shapes (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def shapes(p, x):
    """Rearrangements of values, none of which has two dimensions of one size.

    Shapes (port_collection/operators.py:0): x (N, 3) -> (3, 3).
    """
    h = F.linear(x, **p["inner"])
    h = h.reshape(h.shape[0], 2, 2).transpose(1, 0, 2)
    h = jnp.concatenate([h, 2 * h[:, :, :1]], axis=2).swapaxes(0, 2)
    first, second = jnp.split(h.reshape(h.shape[0], -1), [3], axis=1)
    a, b, c = jnp.unstack(jnp.stack([first, first * 2, first - 1], axis=1), axis=1)
    return (second.sum() * (a - b / 3).T) @ jnp.tile(jnp.tril(c, 1), (1, 2))[:, ::2]
