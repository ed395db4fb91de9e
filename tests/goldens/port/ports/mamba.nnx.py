"""JAX port of Mamba (ports/mamba.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv1d, Linear

F = functional.at("2.13")

INNER = 6
STATE = 3
TOKENS = 5


class Mamba(nnx.Module):
    """Mamba (ports/mamba.py:0).

    `jaxgrad.nnx.load_state_dict` sets `A_log` and `D`, which the constructor leaves as
    `jnp.empty`.

    JAX unrolls `for t in range(x.shape[1])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.A_log = nnx.Param(jnp.empty((6, 3), jnp.float64))
        self.D = nnx.Param(jnp.empty(6, jnp.float64))
        self.in_proj = Linear(4, 12, bias=False, dtype=jnp.float64, rngs=rngs)
        self.conv = Conv1d(6, 6, 3, padding=2, groups=6, dtype=jnp.float64, rngs=rngs)
        self.x_proj = Linear(6, 7, bias=False, dtype=jnp.float64, rngs=rngs)
        self.dt_proj = Linear(1, 6, dtype=jnp.float64, rngs=rngs)
        self.out_proj = Linear(6, 4, bias=False, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        y, gate = jnp.split(self.in_proj(x), 2, axis=-1)
        y = self.conv(y.swapaxes(1, 2))[..., :TOKENS].swapaxes(1, 2)
        y = jax.nn.silu(y)
        dt, b, c = jnp.split(self.x_proj(y), [1, 4], axis=-1)
        dt = F.softplus(self.dt_proj(dt))
        a = -jnp.exp(self.A_log[...])
        h = jnp.zeros((x.shape[0], INNER, STATE), dtype=x.dtype)
        out = []
        for t in range(x.shape[1]):
            decay = jnp.exp(dt[:, t, :, None] * a)
            h = decay * h + (dt[:, t] * y[:, t])[..., None] * b[:, t, None]
            out.append((h * c[:, t, None]).sum(axis=-1))
        y = jnp.stack(out, axis=1) + self.D[...] * y
        return self.out_proj(y * jax.nn.silu(gate))
