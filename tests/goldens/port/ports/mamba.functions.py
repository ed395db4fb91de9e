"""JAX port of Mamba (ports/mamba.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")

INNER = 6
STATE = 3
TOKENS = 5


def mamba(p, x):
    """Mamba (ports/mamba.py:0): x (N, 5, 4) -> (N, 5, 4).

    JAX unrolls `for t in range(x.shape[1])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """
    y, gate = jnp.split(F.linear(x, **p["in_proj"]), 2, axis=-1)
    y = F.conv1d(y.swapaxes(1, 2), **p["conv"], padding=2, groups=6)[..., :TOKENS].swapaxes(1, 2)
    y = jax.nn.silu(y)
    dt, b, c = jnp.split(F.linear(y, **p["x_proj"]), [1, 4], axis=-1)
    dt = F.softplus(F.linear(dt, **p["dt_proj"]))
    a = -jnp.exp(p["A_log"])
    h = jnp.zeros((x.shape[0], INNER, STATE), dtype=x.dtype)
    out = []
    for t in range(x.shape[1]):
        decay = jnp.exp(dt[:, t, :, None] * a)
        h = decay * h + (dt[:, t] * y[:, t])[..., None] * b[:, t, None]
        out.append((h * c[:, t, None]).sum(axis=-1))
    y = jnp.stack(out, axis=1) + p["D"] * y
    return F.linear(y * jax.nn.silu(gate), **p["out_proj"])
