"""JAX port of Tied (finish/test_layers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def tied(p, ids):
    """Tied (finish/test_layers.py:0): ids (1, L) int -> (1, L, 5)."""
    return F.linear(F.embedding(ids, **p["embed"]), p["embed"]["weight"])  # tied

# ---- the next port of this test ----
"""JAX port of Tied (finish/test_layers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def tied(p, ids):
    """Tied (finish/test_layers.py:0): ids (1, L) int -> (1, L, 5)."""
    p = jax.tree.map(lambda x: x, p)
    p["head"]["weight"] = p["embed"]["weight"]  # tied
    return F.linear(F.embedding(ids, **p["embed"]), **p["head"])
