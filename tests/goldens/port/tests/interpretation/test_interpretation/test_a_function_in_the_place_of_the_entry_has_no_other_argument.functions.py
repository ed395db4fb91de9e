"""JAX port of Passes (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def passes(p, picture):
    """Passes.work (interpretation/test_interpretation.py:0): picture (N, 3) -> (N, 3)."""
    x = jnp.sin(scaled_forward(p["inner"], picture * 2))
    return x * picture + x


def scaled_forward(p, image):
    """Scaled (interpretation/test_interpretation.py:0): image (N, 3) -> (N, 3)."""
    scaled = image * 2
    return jnp.tanh(scaled @ p["weight"])

# ---- the next port of this test ----
"""JAX port of Passes (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def passes(p, picture):
    """Passes.work (interpretation/test_interpretation.py:0): picture (N, 3) -> (N, 3)."""
    x = jnp.sin(scaled_forward(p["inner"], picture * 2))
    return x * picture + x


def scaled_forward(p, image):
    """Scaled (interpretation/test_interpretation.py:0): image (N, 3) -> (N, 3)."""
    scaled = image * 2
    return jnp.tanh(scaled @ p["weight"])

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def sequential(p, values):
    """Twice.double (interpretation/test_interpretation.py:0): values (N, L) -> (N, L)."""
    values = values + 1
    return jnp.sin(values * values)
