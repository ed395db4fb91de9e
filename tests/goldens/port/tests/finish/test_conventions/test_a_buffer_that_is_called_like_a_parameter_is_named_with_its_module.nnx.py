"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.attn = Attention(rngs=rngs)

    def __call__(self, x):
        return self.attn(x)


class Attention(nnx.Module):
    """Attention (finish/test_conventions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.bias = nnx.BatchStat(jnp.array([1.0, 0.0, 1.0], jnp.float32))
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.fc(x) * self.bias[...]

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Sequential2(rngs=rngs))
        setattr(self, "1", Sequential2(rngs=rngs))

    def __call__(self, x):
        for module in self:
            x = module.attn(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(2))


class Sequential2(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.attn = Attention(rngs=rngs)


class Attention(nnx.Module):
    """Attention (finish/test_conventions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.bias = nnx.BatchStat(jnp.array([1.0, 0.0, 1.0], jnp.float32))
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.fc(x) * self.bias[...]

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", BatchNorm1d(3))
        setattr(self, "1", Linear(3, 3, rngs=rngs))

    def __call__(self, x):
        for module in self:
            x = module(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(2))
