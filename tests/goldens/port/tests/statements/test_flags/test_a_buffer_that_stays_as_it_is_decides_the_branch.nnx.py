"""JAX port of Initialized (statements/test_flags.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- self.done (test_flags.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Initialized(nnx.Module):
    """It changes a parameter on its first call, as data-dependent initialization does.

    Initialized (statements/test_flags.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.done = nnx.BatchStat(jnp.ones((), bool))
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)

# ---- the next port of this test ----
"""JAX port of Initialized (statements/test_flags.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- self.done (test_flags.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Initialized(nnx.Module):
    """It changes a parameter on its first call, as data-dependent initialization does.

    Initialized (statements/test_flags.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.done = nnx.BatchStat(jnp.ones((), bool))
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)

# ---- the next port of this test ----
"""JAX port of Initialized (statements/test_flags.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- self.done (test_flags.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Initialized(nnx.Module):
    """It changes a parameter on its first call, as data-dependent initialization does.

    Initialized (statements/test_flags.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.done = nnx.BatchStat(jnp.ones((), bool))
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)
