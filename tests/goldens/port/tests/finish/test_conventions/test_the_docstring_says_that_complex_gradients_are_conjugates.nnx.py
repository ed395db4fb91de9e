"""JAX port of Mixes (finish/test_conventions.py), written by jaxgrad.port for torch 2.13.

jax.grad gives the conjugate of torch's .grad for complex parameters (mix);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Mixes(nnx.Module):
    """Mixes (finish/test_conventions.py:0).

    `jaxgrad.nnx.load_state_dict` sets `mix` and `frozen`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.mix = nnx.Param(jnp.empty((3, 3), jnp.complex64))
        self.frozen = nnx.Param(jnp.empty(3, jnp.complex64))

    def __call__(self, x):
        x = self.mix[...] @ x.T.astype(self.mix[...].dtype)
        return F.abs(x) + F.abs(self.frozen[...]).sum()

# ---- the next port of this test ----
"""JAX port of Mixes (finish/test_conventions.py), written by jaxgrad.port for torch 2.13.

jax.grad gives the conjugate of torch's .grad for complex parameters (mix);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Mixes(nnx.Module):
    """Mixes (finish/test_conventions.py:0).

    `jaxgrad.nnx.load_state_dict` sets `mix` and `frozen`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.mix = nnx.Param(jnp.empty((3, 3), jnp.complex64))
        self.frozen = nnx.Param(jnp.empty(3, jnp.complex64))

    def __call__(self, x):
        x = self.mix[...] @ x.T.astype(self.mix[...].dtype)
        return F.abs(x) + F.abs(self.frozen[...]).sum()

# ---- the next port of this test ----
"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Linear(nnx.Module):
    """torch.nn.Linear.

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((3, 3), jnp.float32))
        self.bias = nnx.Param(jnp.empty(3, jnp.float32))

    def __call__(self, x):
        return F.linear(x, self.weight[...], self.bias[...])
