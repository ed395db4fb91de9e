"""JAX port of PeepholeLSTM (port_collection/recurrent.py), written by jaxgrad.port for torch 2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class PeepholeLSTM(nnx.Module):
    """PeepholeLSTM (port_collection/recurrent.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight_ih`, `weight_hh` and `peephole`, which the
    constructor leaves as `jnp.empty`.

    JAX unrolls `for x in jnp.unstack(xs, axis=1)`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """

    def __init__(self):
        self.hidden_size = 4
        self.weight_ih = nnx.Param(jnp.empty((16, 3), jnp.float32))
        self.weight_hh = nnx.Param(jnp.empty((16, 4), jnp.float32))
        self.peephole = nnx.Param(jnp.empty((3, 4), jnp.float32))
        self.bias = nnx.Param(jnp.zeros(16, jnp.float32))

    def __call__(self, xs):
        zeros = jnp.zeros((xs.shape[0], self.hidden_size), dtype=xs.dtype)
        state = {"h": zeros, "c": zeros}
        hs = []
        for x in jnp.unstack(xs, axis=1):
            state = self.step(x, state)
            hs.append(state["h"])
        return jnp.stack(hs, axis=1), state

    def step(self, x, state):
        gates = F.linear(x, self.weight_ih[...], self.bias[...])
        gates = gates + F.linear(state["h"], self.weight_hh[...])
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        i = jax.nn.sigmoid(i + self.peephole[...][0] * state["c"])
        f = jax.nn.sigmoid(f + self.peephole[...][1] * state["c"])
        c = f * state["c"] + i * jnp.tanh(g)
        o = jax.nn.sigmoid(o + self.peephole[...][2] * c)
        return {"h": o * jnp.tanh(c), "c": c}
