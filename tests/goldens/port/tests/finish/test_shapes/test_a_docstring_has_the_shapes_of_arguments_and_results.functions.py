"""JAX port of Scores (finish/test_shapes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def scores(p, x, ids):
    """Scores (finish/test_shapes.py:0).

    x (N, 3), ids (N,) int -> {h (N, 3), same (N,) bool}, (N,), (3,).
    """
    h = twice(p, x) + twice(p, F.embedding(ids, **p["embed"]))
    return {"h": h, "same": ids == 2}, flat(x), flat(h.T)


def twice(p, x):
    """Scores.twice (finish/test_shapes.py:0): x (N, 3) -> (N, 3)."""
    return F.linear(jnp.tanh(F.linear(x, **p["a"])), **p["b"])


def flat(x):
    """Scores.flat (finish/test_shapes.py:0): x (N, D) -> (N,)."""
    return jnp.sin(x).sum(axis=1)
