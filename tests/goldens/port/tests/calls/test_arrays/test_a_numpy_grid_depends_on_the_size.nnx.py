"""JAX port of Grid (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class Grid(nnx.Module):
    """Grid (calls/test_arrays.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        grid = jnp.array(np.linspace(0, 1, x.shape[0]), dtype=jnp.float32)
        return self.fc(x) * grid[:, None]

# ---- the next port of this test ----
"""JAX port of Grid (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class Grid(nnx.Module):
    """Grid (calls/test_arrays.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        grid = jnp.array(np.linspace(0, 1, x.shape[0]), dtype=jnp.float32)
        return self.fc(x) * grid[:, None]

# ---- the next port of this test ----
"""JAX port of Grid (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class Grid(nnx.Module):
    """Grid (calls/test_arrays.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        grid = jnp.array(np.linspace(0, 1, x.shape[0]), dtype=jnp.float32)
        return self.fc(x) * grid[:, None]
