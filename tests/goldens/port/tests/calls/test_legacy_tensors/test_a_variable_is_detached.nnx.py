"""JAX port of Old (calls/test_legacy_tensors.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Old(nnx.Module):
    """`Variable(x)` detaches x today.

    Old (calls/test_legacy_tensors.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        eye = jnp.array(jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
        return self.fc(x) @ eye + lax.stop_gradient(self.fc(x))

# ---- the next port of this test ----
"""JAX port of Old (calls/test_legacy_tensors.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Old(nnx.Module):
    """`Variable(x)` detaches x today.

    Old (calls/test_legacy_tensors.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        eye = jnp.array(jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
        return self.fc(x) @ eye + lax.stop_gradient(self.fc(x))

# ---- the next port of this test ----
"""JAX port of Old (calls/test_legacy_tensors.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Old(nnx.Module):
    """`Variable(x)` detaches x today.

    Old (calls/test_legacy_tensors.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        eye = jnp.array(jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
        return self.fc(x) @ eye + lax.stop_gradient(self.fc(x))

# ---- the next port of this test ----
# PortError: test_legacy_tensors.py:0 `return Variable(x, requires_grad=True)`: this call of Variable is not ported; call detach(); or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
