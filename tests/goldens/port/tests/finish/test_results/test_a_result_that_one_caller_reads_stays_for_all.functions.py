"""JAX port of EachReads (finish/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def each_reads(p, x):
    """EachReads (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    first, _, shift = scores_of(F.linear(x, **p["project"]), x, scale=2.0)
    _, weights, _ = scores_of(first, x, scale=2.0)
    return weights * shift


def scores_of(x, key, *, scale):
    """scores_of (finish/test_results.py:0).

    x (N, L, 4), key (N, L, 4) -> scores (N, L, 4), weights (N, L, 4), key ().
    """
    scores = x * scale
    # the weights
    return scores, jax.nn.softmax(scores, axis=-1), key.mean()

# ---- the next port of this test ----
"""JAX port of EachReads (finish/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def each_reads(p, x):
    """EachReads (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    first, _, shift = scores_of(F.linear(x, **p["project"]), x, scale=2.0)
    _, weights, _ = scores_of(first, x, scale=2.0)
    return weights * shift


def scores_of(x, key, *, scale):
    """scores_of (finish/test_results.py:0).

    x (N, L, 4), key (N, L, 4) -> scores (N, L, 4), weights (N, L, 4), key ().
    """
    scores = x * scale
    # the weights
    return scores, jax.nn.softmax(scores, axis=-1), key.mean()
