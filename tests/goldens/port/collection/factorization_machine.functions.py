"""JAX port of FactorizationMachine (port_collection/structured.py), written by jaxgrad.port for
  torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def factorization_machine(p, user, item, price):
    """A recommender whose features are keyword arguments.

    FactorizationMachine (port_collection/structured.py:0).

    user (N,) int, item (N,) int, price (N, 2) -> (N,).
    """
    ids = {"user": user, "item": item}
    factors = [
        F.embedding(ids["user"], **p["tables"]["user"]),
        F.embedding(ids["item"], **p["tables"]["item"]),
        F.linear(price, **p["dense"]),
    ]
    stacked = jnp.stack(factors, axis=1)
    pairwise = 0.5 * (stacked.sum(axis=1) ** 2 - (stacked**2).sum(axis=1)).sum(axis=-1)
    linear = p["biases"]["user"][ids["user"]] + p["biases"]["item"][ids["item"]]
    return jax.nn.sigmoid(pairwise + linear)
