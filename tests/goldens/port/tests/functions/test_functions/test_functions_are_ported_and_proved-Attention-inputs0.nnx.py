"""JAX port of Attention (functions/test_functions.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Attention(nnx.Module):
    """A decorated method, `super()`, and a mask that `vmap` makes of nested functions.

    Attention (functions/test_functions.py:0).

    JAX unrolls `for one in keep`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.lin = Linear(4, 4, rngs=rngs)

    def __call__(self, x, keep):
        h = self.forward(x)
        places = jnp.arange(x.shape[1])
        rows = []
        for one in keep:

            def function(query, key):
                result = jnp.ones((), dtype=bool)
                result = result & causal(query, key)
                result = result & one[key]
                return result

            mask = jax.vmap(
                jax.vmap(function, in_axes=(None, 0)), in_axes=(0, None)
            )(places, places)
            rows.append(mask)
        scores = h @ h.swapaxes(1, 2)
        return jax.nn.softmax(jnp.where(~jnp.stack(rows), -1e9, scores), axis=-1) @ h

    def forward(self, x):
        return jnp.tanh(self.lin(x))


def causal(query, key):
    """causal (functions/test_functions.py:0)."""
    return key <= query
