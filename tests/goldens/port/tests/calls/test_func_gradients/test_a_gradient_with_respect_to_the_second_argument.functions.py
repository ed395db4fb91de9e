"""JAX port of OfTheSecond (calls/test_func_gradients.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def of_the_second(p, x):
    """OfTheSecond (calls/test_func_gradients.py:0): x (N, 4) -> (N, 4)."""
    x = jax.grad(
        lambda scale, v: (jnp.tanh(F.linear(v, **p["first"])) * scale).sum(), argnums=1
    )(x.mean(), x)
    return F.linear(x, **p["second"])

# ---- the next port of this test ----
"""JAX port of OfTheSecond (calls/test_func_gradients.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def of_the_second(p, x):
    """OfTheSecond (calls/test_func_gradients.py:0): x (N, 4) -> (N, 4)."""
    x = jax.grad(
        lambda scale, v: (jnp.tanh(F.linear(v, **p["first"])) * scale).sum(), argnums=1
    )(x.mean(), x)
    return F.linear(x, **p["second"])
