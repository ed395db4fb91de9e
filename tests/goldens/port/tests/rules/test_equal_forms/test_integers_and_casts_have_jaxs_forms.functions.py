"""JAX port of Distances (rules/test_equal_forms.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def distances(p, x):
    """Distances (rules/test_equal_forms.py:0): x (N, L) -> (L, 3)."""
    places = jnp.arange(x.shape[1])
    distance = jnp.clip(jnp.abs(places[None] - places[:, None]), max=3)
    kinds = jax.nn.one_hot(distance, 4, dtype=jnp.float32)
    steps = jnp.arange(x.shape[1], dtype=jnp.float32) * F.clamp(F.abs(p["scale"]), min=1)
    return steps[:, None] + kinds.sum(axis=1) @ p["table"]["weight"]

# ---- the next port of this test ----
"""JAX port of Distances (rules/test_equal_forms.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def distances(p, x):
    """Distances (rules/test_equal_forms.py:0): x (N, L) -> (L, 3)."""
    places = jnp.arange(x.shape[1])
    distance = jnp.clip(jnp.abs(places[None] - places[:, None]), max=3)
    kinds = jax.nn.one_hot(distance, 4, dtype=jnp.float32)
    steps = jnp.arange(x.shape[1], dtype=jnp.float32) * F.clamp(F.abs(p["scale"]), min=1)
    return steps[:, None] + kinds.sum(axis=1) @ p["table"]["weight"]
