"""JAX port of Biased (finish/test_letters.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def biased(p, x, memory, mask):
    """Biased (finish/test_letters.py:0).

    x (N, L, 4), memory (N, M, 4), mask (N, L) -> (N, L, 4).
    """
    x = attend(p, x, x, mask[:, :, None] * mask[:, None, :])
    return attend(p, x, memory, memory[:, None, :, 0])


def attend(p, x, memory, bias):
    """Biased.attend (finish/test_letters.py:0).

    x (N, L, 4), memory (N, M, 4), bias (N, 1|L, M) -> (N, L, 4).
    """
    scores = F.linear(x, **p["q"]) @ F.linear(memory, **p["k"]).mT + bias
    return jax.nn.softmax(scores, axis=-1) @ memory
