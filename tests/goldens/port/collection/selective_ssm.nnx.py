"""JAX port of SelectiveSSM (port_collection/sequence.py), written by jaxgrad.port for torch 2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv1d, Linear

F = functional.at("2.13")


class SelectiveSSM(nnx.Module):
    """A Mamba block with the scan written as a loop.

    SelectiveSSM (port_collection/sequence.py:0).

    `jaxgrad.nnx.load_state_dict` sets `A_log`, which the constructor leaves as `jnp.empty`.

    JAX unrolls `for i in range(l)`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.d_state = 3
        self.A_log = nnx.Param(jnp.empty((8, 3), jnp.float32))
        self.D = nnx.Param(jnp.ones(8, jnp.float32))
        self.in_proj = Linear(4, 16, bias=False, rngs=rngs)
        self.conv1d = Conv1d(8, 8, 3, padding=2, groups=8, rngs=rngs)
        self.x_proj = Linear(8, 7, bias=False, rngs=rngs)
        self.dt_proj = Linear(1, 8, rngs=rngs)
        self.out_proj = Linear(8, 4, bias=False, rngs=rngs)

    def __call__(self, x):
        b, l, _ = x.shape
        x, res = jnp.split(self.in_proj(x), [8], axis=-1)
        x = jax.nn.silu(self.conv1d(x.swapaxes(1, 2))[..., :l].swapaxes(1, 2))
        return self.out_proj(self.ssm(x) * jax.nn.silu(res))

    def ssm(self, u):
        b, l, d_in = u.shape
        A = -jnp.exp(self.A_log[...].astype(jnp.float32))
        delta, B, C = jnp.split(self.x_proj(u), [1, 4], axis=-1)
        delta = F.softplus(self.dt_proj(delta))
        deltaA = jnp.exp(jnp.einsum("bld,dn->bldn", delta, A))
        deltaB_u = jnp.einsum("bld,bln,bld->bldn", delta, B, u)
        x = jnp.zeros((b, d_in, self.d_state))
        ys = []
        for i in range(l):
            x = deltaA[:, i] * x + deltaB_u[:, i]
            ys.append(jnp.einsum("bdn,bn->bd", x, C[:, i, :]))
        return jnp.stack(ys, axis=1) + u * self.D[...]
