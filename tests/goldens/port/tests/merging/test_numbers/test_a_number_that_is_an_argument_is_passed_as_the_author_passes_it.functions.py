"""JAX port of Passes (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def passes(p, x, *, t1=1.5, steps=4):
    """Passes (merging/test_numbers.py:0): x (N, L, D) -> (N, L, D)."""
    h = t1 / steps
    for _ in range(steps):
        x = jnp.sin(scaled(x, h=h))
    return scaled(x, h=h)


def scaled(x, *, h, gain=2.5):
    """scaled (merging/test_numbers.py:0): x (N, L, D) -> (N, L, D)."""
    return x * h * gain + h
