"""JAX port of CausalMask (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class CausalMask(nnx.Module):
    """Hide what comes later, with a mask that numpy makes and changes in place.

    CausalMask (calls/test_arrays.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        size = x.shape[0]
        shape = [size, size]
        later = np.triu(np.ones(shape), k=1).astype(np.uint8).T
        start = np.ones(size).astype(np.float32)
        start[0] = 0
        np.fill_diagonal(later, 1)
        scores = self.fc(x) @ x.T
        scores = jnp.where(jnp.array(later, dtype=jnp.uint8) == 0, -2.0, scores)
        return scores * jnp.array(start)[:, None]

# ---- the next port of this test ----
"""JAX port of CausalMask (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class CausalMask(nnx.Module):
    """Hide what comes later, with a mask that numpy makes and changes in place.

    CausalMask (calls/test_arrays.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        size = x.shape[0]
        shape = [size, size]
        later = np.triu(np.ones(shape), k=1).astype(np.uint8).T
        start = np.ones(size).astype(np.float32)
        start[0] = 0
        np.fill_diagonal(later, 1)
        scores = self.fc(x) @ x.T
        scores = jnp.where(jnp.array(later, dtype=jnp.uint8) == 0, -2.0, scores)
        return scores * jnp.array(start)[:, None]

# ---- the next port of this test ----
"""JAX port of CausalMask (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class CausalMask(nnx.Module):
    """Hide what comes later, with a mask that numpy makes and changes in place.

    CausalMask (calls/test_arrays.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        size = x.shape[0]
        shape = [size, size]
        later = np.triu(np.ones(shape), k=1).astype(np.uint8).T
        start = np.ones(size).astype(np.float32)
        start[0] = 0
        np.fill_diagonal(later, 1)
        scores = self.fc(x) @ x.T
        scores = jnp.where(jnp.array(later, dtype=jnp.uint8) == 0, -2.0, scores)
        return scores * jnp.array(start)[:, None]

# ---- the next port of this test ----
"""JAX port of CausalMask (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class CausalMask(nnx.Module):
    """Hide what comes later, with a mask that numpy makes and changes in place.

    CausalMask (calls/test_arrays.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        size = x.shape[0]
        shape = [size, size]
        later = np.triu(np.ones(shape), k=1).astype(np.uint8).T
        start = np.ones(size).astype(np.float32)
        start[0] = 0
        np.fill_diagonal(later, 1)
        scores = self.fc(x) @ x.T
        scores = jnp.where(jnp.array(later, dtype=jnp.uint8) == 0, -2.0, scores)
        return scores * jnp.array(start)[:, None]
