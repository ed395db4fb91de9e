"""JAX port of Noise (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def noise(p, x, *, rng, training=False):
    """Dropout and a draw in train mode.

    Noise (interpretation/test_statements.py:0): x (N, 4) -> (N, 2).
    """
    drop_rng, normal_rng = jax.random.split(rng)
    h = F.dropout(F.linear(x, **p["inp"]), p=0.5, training=training, key=drop_rng)
    return F.linear(h + jax.random.normal(normal_rng, h.shape, h.dtype), **p["out"])
