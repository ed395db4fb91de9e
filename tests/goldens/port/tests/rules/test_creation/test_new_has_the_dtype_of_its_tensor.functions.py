"""JAX port of Old (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def old(p, x):
    """`new` of old programs: sizes or numbers.

    Old (rules/test_creation.py:0): x (N, 4) -> (N, 4).
    """
    start = lax.stop_gradient(p["fc"]["weight"])
    start = jnp.zeros_like(jnp.empty((x.shape[0], 4), dtype=start.dtype))
    return F.linear(x, **p["fc"]) * (1 + start) * jnp.array([1.0, 2.0, 3.0, 4.0], dtype=x.dtype)

# ---- the next port of this test ----
"""JAX port of Old (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def old(p, x):
    """`new` of old programs: sizes or numbers.

    Old (rules/test_creation.py:0): x (N, 4) -> (N, 4).
    """
    start = lax.stop_gradient(p["fc"]["weight"])
    start = jnp.zeros_like(jnp.empty((x.shape[0], 4), dtype=start.dtype))
    return F.linear(x, **p["fc"]) * (1 + start) * jnp.array([1.0, 2.0, 3.0, 4.0], dtype=x.dtype)
