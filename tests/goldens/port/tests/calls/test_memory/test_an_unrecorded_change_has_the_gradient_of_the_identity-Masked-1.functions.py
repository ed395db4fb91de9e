"""JAX port of Masked (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def masked(p, x):
    """Attention hides scores by their data, so that the mask has no part in the backward pass.

    Masked (calls/test_memory.py:0): x (N, 4) -> (N, 4).
    """
    scores = F.linear(x, **p["fc"])
    scores = jaxgrad.straight_through(lambda scores: jnp.where(x > 1, -jnp.inf, scores))(scores)
    return jax.nn.softmax(scores, axis=1)

# ---- the next port of this test ----
"""JAX port of Masked (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def masked(p, x):
    """Attention hides scores by their data, so that the mask has no part in the backward pass.

    Masked (calls/test_memory.py:0): x (N, 4) -> (N, 4).
    """
    scores = F.linear(x, **p["fc"])
    scores = jaxgrad.straight_through(lambda scores: jnp.where(x > 1, -jnp.inf, scores))(scores)
    return jax.nn.softmax(scores, axis=1)
