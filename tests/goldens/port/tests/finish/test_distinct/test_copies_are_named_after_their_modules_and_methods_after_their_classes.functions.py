"""JAX port of Net (finish/test_distinct.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    return step(decoder_cell(p["decoder"], encoder_cell(p["encoder"], x)))


def step(x):
    """Net.step (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    return x * 2


def decoder_cell(p, x):
    """Cell.step (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    x = jnp.tanh(F.linear(x, **p["layers"][0]))
    return jax.nn.sigmoid(F.linear(x, **p["layers"][1]))


def encoder_cell(p, x):
    """Cell.step (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    return jnp.tanh(F.linear(x, **p["layers"][0]))

# ---- the next port of this test ----
"""JAX port of Net (finish/test_distinct.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    return step(decoder_cell(p["decoder"], encoder_cell(p["encoder"], x)))


def step(x):
    """Net.step (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    return x * 2


def decoder_cell(p, x):
    """Cell.step (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    x = jnp.tanh(F.linear(x, **p["layers"][0]))
    return jax.nn.sigmoid(F.linear(x, **p["layers"][1]))


def encoder_cell(p, x):
    """Cell.step (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    return jnp.tanh(F.linear(x, **p["layers"][0]))
