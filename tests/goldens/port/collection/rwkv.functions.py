"""JAX port of TimeMixing (port_collection/recurrent.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def time_mixing(p, x):
    """The recurrence of RWKV, with a token shift.

    TimeMixing (port_collection/recurrent.py:0): x (N, L, 4) -> (N, L, 4).

    JAX unrolls `for t in range(x.shape[1])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """
    k, v = F.linear(mix(p, x, key="k"), **p["key"]), F.linear(mix(p, x, key="v"), **p["value"])
    r = jax.nn.sigmoid(F.linear(mix(p, x, key="r"), **p["receptance"]))
    w = jnp.exp(-jnp.exp(p["time_decay"]))
    numerator = jnp.zeros_like(x[:, 0])
    denominator = jnp.zeros_like(x[:, 0])
    outputs = []
    for t in range(x.shape[1]):
        weight = jnp.exp(p["time_first"] + k[:, t])
        outputs.append((numerator + weight * v[:, t]) / (denominator + weight))
        numerator = w * numerator + jnp.exp(k[:, t]) * v[:, t]
        denominator = w * denominator + jnp.exp(k[:, t])
    return F.linear(r * jnp.stack(outputs, axis=1), **p["output"])


def mix(p, x, *, key):
    """TimeMixing.mix (port_collection/recurrent.py:0): x (N, L, 4) -> (N, L, 4)."""
    ratio = p["time_mix"][key]
    return x * ratio + F.pad(x, (0, 0, 1, -1)) * (1 - ratio)
