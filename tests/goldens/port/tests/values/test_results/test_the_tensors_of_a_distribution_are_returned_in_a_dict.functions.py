"""JAX port of Policy (values/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def policy(p, x):
    """Policy (values/test_results.py:0).

    x (N, 3) -> h {probs (N, 3)}, normal {loc (N, 3), scale (N, 3)}, {value ()}.
    """
    h = F.linear(x, **p["fc"])
    scale = jnp.exp(h)
    loc, scale = jnp.broadcast_arrays(h, scale)
    probs = jax.nn.softmax(h, axis=-1)
    probs = probs / probs.sum(axis=-1, keepdims=True)
    return {"probs": probs}, {"loc": loc, "scale": scale}, {"value": h.mean()}

# ---- the next port of this test ----
"""JAX port of Policy (values/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def policy(p, x):
    """Policy (values/test_results.py:0).

    x (N, 3) -> h {probs (N, 3)}, normal {loc (N, 3), scale (N, 3)}, {value ()}.
    """
    h = F.linear(x, **p["fc"])
    scale = jnp.exp(h)
    loc, scale = jnp.broadcast_arrays(h, scale)
    probs = jax.nn.softmax(h, axis=-1)
    probs = probs / probs.sum(axis=-1, keepdims=True)
    return {"probs": probs}, {"loc": loc, "scale": scale}, {"value": h.mean()}
