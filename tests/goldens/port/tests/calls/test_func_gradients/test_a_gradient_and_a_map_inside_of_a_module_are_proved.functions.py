"""JAX port of PerSample (calls/test_func_gradients.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def per_sample(p, x):
    """PerSample (calls/test_func_gradients.py:0): x (N, 4) -> (N, 4)."""
    return F.linear(jax.vmap(jax.grad(lambda x: energy(p, x)))(x), **p["second"])


def energy(p, v):
    """PerSample.energy (calls/test_func_gradients.py:0): v (4,) -> ()."""
    return jnp.tanh(F.linear(v, **p["first"])).sum()
