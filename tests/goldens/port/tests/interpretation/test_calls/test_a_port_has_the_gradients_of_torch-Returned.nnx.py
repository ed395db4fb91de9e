"""JAX port of Returned (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- number == 0 (test_calls.py:0)
- number != 0 (test_calls.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Returned(nnx.Module):
    """A method returns a module, which forward calls.

    Returned (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = jnp.tanh(self.first(x))
        return jnp.tanh(self.second(x))

# ---- the next port of this test ----
"""JAX port of Returned (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- number == 0 (test_calls.py:0)
- number != 0 (test_calls.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Returned(nnx.Module):
    """A method returns a module, which forward calls.

    Returned (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = jnp.tanh(self.first(x))
        return jnp.tanh(self.second(x))

# ---- the next port of this test ----
"""JAX port of Returned (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- number == 0 (test_calls.py:0)
- number != 0 (test_calls.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Returned(nnx.Module):
    """A method returns a module, which forward calls.

    Returned (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = jnp.tanh(self.first(x))
        return jnp.tanh(self.second(x))

# ---- the next port of this test ----
"""JAX port of Returned (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- number == 0 (test_calls.py:0)
- number != 0 (test_calls.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Returned(nnx.Module):
    """A method returns a module, which forward calls.

    Returned (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = jnp.tanh(self.first(x))
        return jnp.tanh(self.second(x))
