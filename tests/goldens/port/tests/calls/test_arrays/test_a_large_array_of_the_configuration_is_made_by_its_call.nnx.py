"""JAX port of Identity (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class Identity(nnx.Module):
    """A table of the configuration, with more numbers than a literal may have.

    Identity (calls/test_arrays.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 81, rngs=rngs)

    def __call__(self, x):
        eye = jnp.array(np.eye(9).flatten().astype(np.float32))
        return self.fc(x) + eye

# ---- the next port of this test ----
"""JAX port of Identity (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxgrad.nnx import Linear


class Identity(nnx.Module):
    """A table of the configuration, with more numbers than a literal may have.

    Identity (calls/test_arrays.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 81, rngs=rngs)

    def __call__(self, x):
        eye = jnp.array(np.eye(9).flatten().astype(np.float32))
        return self.fc(x) + eye
