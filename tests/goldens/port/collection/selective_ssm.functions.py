"""JAX port of SelectiveSSM (port_collection/sequence.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def selective_ssm(p, x):
    """A Mamba block with the scan written as a loop.

    SelectiveSSM (port_collection/sequence.py:0): x (b, l, 4) -> (b, l, 4).
    """
    _, l, _ = x.shape
    x, res = jnp.split(F.linear(x, **p["in_proj"]), [8], axis=-1)
    x = F.conv1d(x.swapaxes(1, 2), **p["conv1d"], padding=2, groups=8)
    x = jax.nn.silu(x[..., :l].swapaxes(1, 2))
    return F.linear(ssm(p, x) * jax.nn.silu(res), **p["out_proj"])


def ssm(p, u, *, d_state=3):
    """SelectiveSSM.ssm (port_collection/sequence.py:0): u (b, l, 8) -> (b, l, 8).

    JAX unrolls `for i in range(l)`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """
    b, l, d_in = u.shape
    A = -jnp.exp(p["A_log"].astype(jnp.float32))
    delta, B, C = jnp.split(F.linear(u, **p["x_proj"]), [1, 4], axis=-1)
    delta = F.softplus(F.linear(delta, **p["dt_proj"]))
    deltaA = jnp.exp(jnp.einsum("bld,dn->bldn", delta, A))
    deltaB_u = jnp.einsum("bld,bln,bld->bldn", delta, B, u)
    x = jnp.zeros((b, d_in, d_state))
    ys = []
    for i in range(l):
        x = deltaA[:, i] * x + deltaB_u[:, i]
        ys.append(jnp.einsum("bdn,bn->bd", x, C[:, i, :]))
    return jnp.stack(ys, axis=1) + u * p["D"]
