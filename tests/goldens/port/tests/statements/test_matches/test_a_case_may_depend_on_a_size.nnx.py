"""JAX port of OfSize (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- subject != 1 (test_matches.py:0)
- subject <= 3 (test_matches.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class OfSize(nnx.Module):
    """OfSize (statements/test_matches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.linear(x)
        subject = x.shape[0] - 1
        assert subject != 1, (
            "this port holds for subject != 1: torch takes another branch otherwise "
            "(test_matches.py:0)"
        )
        assert subject <= 3, (
            "this port holds for subject <= 3: torch takes another branch otherwise "
            "(test_matches.py:0)"
        )
        other = subject
        return x + other

# ---- the next port of this test ----
"""JAX port of OfSize (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- subject <= 3 (test_matches.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class OfSize(nnx.Module):
    """OfSize (statements/test_matches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.linear(x)
        subject = x.shape[0] - 1
        if subject == 1:
            x = jnp.tanh(x)
        else:
            assert subject <= 3, (
                "this port holds for subject <= 3: torch takes another branch otherwise "
                "(test_matches.py:0)"
            )
            other = subject
            x = x + other
        return x

# ---- the next port of this test ----
"""JAX port of OfSize (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- subject != 1 (test_matches.py:0)
- subject <= 3 (test_matches.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class OfSize(nnx.Module):
    """OfSize (statements/test_matches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.linear(x)
        subject = x.shape[0] - 1
        assert subject != 1, (
            "this port holds for subject != 1: torch takes another branch otherwise "
            "(test_matches.py:0)"
        )
        assert subject <= 3, (
            "this port holds for subject <= 3: torch takes another branch otherwise "
            "(test_matches.py:0)"
        )
        other = subject
        return x + other

# ---- the next port of this test ----
"""JAX port of OfSize (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- subject != 1 (test_matches.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class OfSize(nnx.Module):
    """OfSize (statements/test_matches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.linear(x)
        subject = x.shape[0] - 1
        assert subject != 1, (
            "this port holds for subject != 1: torch takes another branch otherwise "
            "(test_matches.py:0)"
        )
        if subject > 3:
            n = subject
            x = x * n
        else:
            other = subject
            x = x + other
        return x
