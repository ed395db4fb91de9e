"""JAX port of Heads (finish/test_letters.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def heads(p, x):
    """Heads (finish/test_letters.py:0): x (N, L, 4) -> (N, L, L)."""
    q, k = [
        F.linear(x, **layer).reshape(*x.shape[:2], 2, 4).swapaxes(1, 2) for layer in (
            p["q"], p["k"]
        )
    ]
    return attended(scores_forward(q, k))


def attended(weights):
    """Heads.attended (finish/test_letters.py:0): weights (N, 2, L, L) -> (N, L, L)."""
    weights = jax.nn.softmax(weights, axis=-1)
    return weights.sum(axis=1)


def scores_forward(q, k):
    """Heads.scores (finish/test_letters.py:0): q (N, 2, L, 4), k (N, 2, L, 4) -> (N, 2, L, L)."""
    scores = q @ k.swapaxes(2, 3)
    return scores - lax.stop_gradient(scores).mean(axis=-1, keepdims=True)
