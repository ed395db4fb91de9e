"""JAX port of Attention (functions/test_functions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def attention(p, x, keep):
    """A decorated method, `super()`, and a mask that `vmap` makes of nested functions.

    Attention (functions/test_functions.py:0): x (N, L, 4), keep (N, M) bool -> (N, L, 4).

    JAX unrolls `for one in keep`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """
    h = base(p, x)
    places = jnp.arange(x.shape[1])
    rows = []
    for one in keep:

        def function(query, key):
            result = jnp.ones((), dtype=bool)
            result = result & causal(query, key)
            result = result & one[key]
            return result

        mask = jax.vmap(jax.vmap(function, in_axes=(None, 0)), in_axes=(0, None))(places, places)
        rows.append(mask)
    scores = h @ h.swapaxes(1, 2)
    return jax.nn.softmax(jnp.where(~jnp.stack(rows), -1e9, scores), axis=-1) @ h


def base(p, x):
    """Base (functions/test_functions.py:0): x (N, L, 4) -> (N, L, 4)."""
    return jnp.tanh(F.linear(x, **p["lin"]))


def causal(query, key):
    """causal (functions/test_functions.py:0): query () int, key () int -> () bool."""
    return key <= query
