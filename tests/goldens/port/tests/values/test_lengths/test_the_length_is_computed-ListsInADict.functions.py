"""JAX port of ListsInADict (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def lists_in_a_dict(p, x):
    """ListsInADict (values/test_lengths.py:0): x (N, L, 4) -> (L, N, 4).

    JAX unrolls `for t in range(x.shape[1])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """
    lists = {"outs": [], "ins": []}
    for t in range(x.shape[1]):
        lists["outs"].append(F.linear(x[:, t], **p["linear"]))
        lists["ins"].append(x[:, t])
    return jnp.stack(lists["outs"]) * len(lists["ins"])
