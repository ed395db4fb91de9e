"""JAX port of Net (finish/test_shared_names.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (finish/test_shared_names.py:0): x (N, 3) -> (N, 3)."""
    x = x + mlp(p["encoder"], x)
    return x + mlp(p["decoder"], x)


def mlp(p, x):
    """Net.decoder and Net.encoder (finish/test_shared_names.py:0): x (N, 3) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Net (finish/test_shared_names.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (finish/test_shared_names.py:0): x (N, 3) -> (N, 3)."""
    return x + encoder(p["encoder"], x)


def encoder(p, x):
    """Net.encoder (finish/test_shared_names.py:0): x (N, 3) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    return F.linear(x, **p[2])
