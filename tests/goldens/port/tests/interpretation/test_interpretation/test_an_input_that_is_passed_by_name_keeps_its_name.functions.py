"""JAX port of Passes (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def passes(p, x):
    """Passes.work (interpretation/test_interpretation.py:0): x (N, 3) -> (N, 3)."""
    x_2 = jnp.sin(scaled_forward(p["inner"], x * 2))
    return x_2 * x + x_2


def scaled_forward(p, image):
    """Scaled (interpretation/test_interpretation.py:0): image (N, 3) -> (N, 3)."""
    scaled = image * 2
    return jnp.tanh(scaled @ p["weight"])
