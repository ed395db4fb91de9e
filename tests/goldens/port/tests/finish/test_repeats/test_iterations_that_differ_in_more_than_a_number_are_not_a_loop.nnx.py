"""JAX port of Shifted (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Shifted(nnx.Module):
    """Each iteration reads another parameter, which is not an element of a list.

    Shifted (finish/test_repeats.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.early = nnx.Param(jnp.array(0.5, jnp.float32))
        self.late = nnx.Param(jnp.array(-0.5, jnp.float32))
        self.layers = nnx.List(
            [
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
            ]
        )

    def __call__(self, x):
        x = x * 2
        shift = self.early[...]
        x = jnp.tanh(self.layers[0](x) + shift)
        x = x * 3
        x = x * 2
        shift = self.late[...]
        x = jnp.tanh(self.layers[1](x) + shift)
        return x * 3

# ---- the next port of this test ----
"""JAX port of Shifted (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Shifted(nnx.Module):
    """Each iteration reads another parameter, which is not an element of a list.

    Shifted (finish/test_repeats.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.early = nnx.Param(jnp.array(0.5, jnp.float32))
        self.late = nnx.Param(jnp.array(-0.5, jnp.float32))
        self.layers = nnx.List(
            [
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
            ]
        )

    def __call__(self, x):
        x = x * 2
        shift = self.early[...]
        x = jnp.tanh(self.layers[0](x) + shift)
        x = x * 3
        x = x * 2
        shift = self.late[...]
        x = jnp.tanh(self.layers[1](x) + shift)
        return x * 3

# ---- the next port of this test ----
"""JAX port of Signed (finish/test_repeats.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Signed(nnx.Module):
    """Signed (finish/test_repeats.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List(
            [
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
            ]
        )

    def __call__(self, x):
        x = jnp.tanh(self.layers[0](x) * 1)
        x = x * 2
        x = jnp.tanh(self.layers[2](x) * -1)
        x = x * 2
        x = jnp.tanh(self.layers[4](x) * 1)
        return x * 2
