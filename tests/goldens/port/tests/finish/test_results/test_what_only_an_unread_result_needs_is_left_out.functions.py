"""JAX port of Scores (finish/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def scores_forward(p, x):
    """Scores (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    weights = scores_of(F.linear(x, **p["project"]), scale=2.0)
    return weights * 2


def scores_of(x, *, scale):
    """scores_of (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    scores = x * scale
    # the weights
    return jax.nn.softmax(scores, axis=-1)

# ---- the next port of this test ----
"""JAX port of Scores (finish/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def scores_forward(p, x):
    """Scores (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    weights = scores_of(F.linear(x, **p["project"]), scale=2.0)
    return weights * 2


def scores_of(x, *, scale):
    """scores_of (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    scores = x * scale
    # the weights
    return jax.nn.softmax(scores, axis=-1)
