"""JAX port of Embedded (functions/test_parameters.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def embedded(p, x):
    """Each function keeps a frequency of its own as a default.

    Embedded (functions/test_parameters.py:0): x (N, 4) -> (N, 4).
    """
    y = jnp.sin(x * jnp.array(1.0, dtype=jnp.float32))
    h = jnp.sin(x * jnp.array(2.0, dtype=jnp.float32))
    return F.linear(jnp.concatenate([y, h], axis=-1), **p["fc"])

# ---- the next port of this test ----
"""JAX port of Embedded (functions/test_parameters.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def embedded(p, x):
    """Each function keeps a frequency of its own as a default.

    Embedded (functions/test_parameters.py:0): x (N, 4) -> (N, 4).
    """
    y = jnp.sin(x * jnp.array(1.0, dtype=jnp.float32))
    h = jnp.sin(x * jnp.array(2.0, dtype=jnp.float32))
    return F.linear(jnp.concatenate([y, h], axis=-1), **p["fc"])
