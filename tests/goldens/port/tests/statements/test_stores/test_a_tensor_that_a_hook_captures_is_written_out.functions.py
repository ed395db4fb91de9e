"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    keep = jnp.array([[1.0], [0.0], [1.0], [1.0]], dtype=jnp.float32)
    layer_weight = jaxgrad.hook(p["layer"]["weight"], lambda grad: grad * keep)
    return shadows(F.linear(x, layer_weight, p["layer"]["bias"]))


def shadows(h):
    """_shadows (statements/test_stores.py:0): h (N, 4) -> (N, 4)."""
    z = h * 2
    z = z + 1
    return h * z

# ---- the next port of this test ----
"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    keep = jnp.array([[1.0], [0.0], [1.0], [1.0]], dtype=jnp.float32)
    layer_weight = jaxgrad.hook(p["layer"]["weight"], lambda grad: grad * keep)
    return shadows(F.linear(x, layer_weight, p["layer"]["bias"]))


def shadows(h):
    """_shadows (statements/test_stores.py:0): h (N, 4) -> (N, 4)."""
    z = h * 2
    z = z + 1
    return h * z
