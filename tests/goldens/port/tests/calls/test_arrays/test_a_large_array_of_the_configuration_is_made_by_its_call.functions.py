"""JAX port of Identity (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def identity(p, x):
    """A table of the configuration, with more numbers than a literal may have.

    Identity (calls/test_arrays.py:0): x (N, 4) -> (N, 81).
    """
    eye = jnp.array(np.eye(9).flatten().astype(np.float32))
    return F.linear(x, **p["fc"]) + eye

# ---- the next port of this test ----
"""JAX port of Identity (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def identity(p, x):
    """A table of the configuration, with more numbers than a literal may have.

    Identity (calls/test_arrays.py:0): x (N, 4) -> (N, 81).
    """
    eye = jnp.array(np.eye(9).flatten().astype(np.float32))
    return F.linear(x, **p["fc"]) + eye
