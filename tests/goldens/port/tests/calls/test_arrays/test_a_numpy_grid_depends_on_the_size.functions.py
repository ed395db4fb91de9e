"""JAX port of Grid (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def grid_forward(p, x):
    """Grid (calls/test_arrays.py:0): x (N, 4) -> (N, 4)."""
    grid = jnp.array(np.linspace(0, 1, x.shape[0]), dtype=jnp.float32)
    return F.linear(x, **p["fc"]) * grid[:, None]

# ---- the next port of this test ----
"""JAX port of Grid (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def grid_forward(p, x):
    """Grid (calls/test_arrays.py:0): x (N, 4) -> (N, 4)."""
    grid = jnp.array(np.linspace(0, 1, x.shape[0]), dtype=jnp.float32)
    return F.linear(x, **p["fc"]) * grid[:, None]

# ---- the next port of this test ----
"""JAX port of Grid (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def grid_forward(p, x):
    """Grid (calls/test_arrays.py:0): x (N, 4) -> (N, 4)."""
    grid = jnp.array(np.linspace(0, 1, x.shape[0]), dtype=jnp.float32)
    return F.linear(x, **p["fc"]) * grid[:, None]
