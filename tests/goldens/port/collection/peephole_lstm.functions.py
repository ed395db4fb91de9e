"""JAX port of PeepholeLSTM (port_collection/recurrent.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def peephole_lstm(p, xs, *, hidden_size=4):
    """PeepholeLSTM (port_collection/recurrent.py:0).

    xs (N, L, 3) -> hs (N, L, 4), state {c (N, 4), h (N, 4)}.

    JAX unrolls `for x in jnp.unstack(xs, axis=1)`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """
    zeros = jnp.zeros((xs.shape[0], hidden_size), dtype=xs.dtype)
    state = {"h": zeros, "c": zeros}
    hs = []
    for x in jnp.unstack(xs, axis=1):
        state = step(p, x, state)
        hs.append(state["h"])
    return jnp.stack(hs, axis=1), state


def step(p, x, state):
    """PeepholeLSTM.step (port_collection/recurrent.py:0).

    x (N, 3), state {h (N, 4), c (N, 4)} -> {h (N, 4), c (N, 4)}.
    """
    gates = F.linear(x, p["weight_ih"], p["bias"]) + F.linear(state["h"], p["weight_hh"])
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    i = jax.nn.sigmoid(i + p["peephole"][0] * state["c"])
    f = jax.nn.sigmoid(f + p["peephole"][1] * state["c"])
    c = f * state["c"] + i * jnp.tanh(g)
    o = jax.nn.sigmoid(o + p["peephole"][2] * c)
    return {"h": o * jnp.tanh(c), "c": c}
