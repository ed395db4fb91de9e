"""JAX port of CausalMask (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def causal_mask(p, x):
    """Hide what comes later, with a mask that numpy makes and changes in place.

    CausalMask (calls/test_arrays.py:0): x (size, 4) -> (size, size).
    """
    size = x.shape[0]
    shape = [size, size]
    later = np.triu(np.ones(shape), k=1).astype(np.uint8).T
    start = np.ones(size).astype(np.float32)
    start[0] = 0
    np.fill_diagonal(later, 1)
    scores = F.linear(x, **p["fc"]) @ x.T
    scores = jnp.where(jnp.array(later, dtype=jnp.uint8) == 0, -2.0, scores)
    return scores * jnp.array(start)[:, None]

# ---- the next port of this test ----
"""JAX port of CausalMask (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def causal_mask(p, x):
    """Hide what comes later, with a mask that numpy makes and changes in place.

    CausalMask (calls/test_arrays.py:0): x (size, 4) -> (size, size).
    """
    size = x.shape[0]
    shape = [size, size]
    later = np.triu(np.ones(shape), k=1).astype(np.uint8).T
    start = np.ones(size).astype(np.float32)
    start[0] = 0
    np.fill_diagonal(later, 1)
    scores = F.linear(x, **p["fc"]) @ x.T
    scores = jnp.where(jnp.array(later, dtype=jnp.uint8) == 0, -2.0, scores)
    return scores * jnp.array(start)[:, None]

# ---- the next port of this test ----
"""JAX port of CausalMask (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def causal_mask(p, x):
    """Hide what comes later, with a mask that numpy makes and changes in place.

    CausalMask (calls/test_arrays.py:0): x (size, 4) -> (size, size).
    """
    size = x.shape[0]
    shape = [size, size]
    later = np.triu(np.ones(shape), k=1).astype(np.uint8).T
    start = np.ones(size).astype(np.float32)
    start[0] = 0
    np.fill_diagonal(later, 1)
    scores = F.linear(x, **p["fc"]) @ x.T
    scores = jnp.where(jnp.array(later, dtype=jnp.uint8) == 0, -2.0, scores)
    return scores * jnp.array(start)[:, None]

# ---- the next port of this test ----
"""JAX port of CausalMask (calls/test_arrays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import numpy as np
from jaxgrad import functional

F = functional.at("2.13")


def causal_mask(p, x):
    """Hide what comes later, with a mask that numpy makes and changes in place.

    CausalMask (calls/test_arrays.py:0): x (size, 4) -> (size, size).
    """
    size = x.shape[0]
    shape = [size, size]
    later = np.triu(np.ones(shape), k=1).astype(np.uint8).T
    start = np.ones(size).astype(np.float32)
    start[0] = 0
    np.fill_diagonal(later, 1)
    scores = F.linear(x, **p["fc"]) @ x.T
    scores = jnp.where(jnp.array(later, dtype=jnp.uint8) == 0, -2.0, scores)
    return scores * jnp.array(start)[:, None]
