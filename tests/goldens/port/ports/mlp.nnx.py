"""JAX port of MLP (ports/mlp.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Dropout, Linear

F = functional.at("2.13")


class MLP(nnx.Module):
    """MLP (ports/mlp.py:0).

    `jaxgrad.nnx.load_state_dict` sets `decoder_bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.decoder_bias = nnx.Param(jnp.empty(6, jnp.float64))
        self.features = Linear(6, 8, bias=False, dtype=jnp.float64, rngs=rngs)
        self.unit = Unit()
        self.mix = WeightNormLinear()
        self.context = Linear(4, 8, dtype=jnp.float64, rngs=rngs)
        self.blocks = nnx.List([Block(rngs=rngs) for _ in range(2)])
        self.probe = Probe(rngs=rngs)
        self.aux_head = Linear(8, 3, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x, context):
        h = self.mix(self.unit(self.features(x))) + self.context(context)
        for block in self.blocks:
            h = block(h)
        weight = self.features.weight[...].T
        return F.linear(h, weight, self.decoder_bias[...]), self.probe(h)


class Unit(nnx.Module):
    """Unit (ports/mlp.py:0)."""

    def __call__(self, x):
        return x / (F.norm(x, dim=-1, keepdim=True) + 1e-6)


class WeightNormLinear(nnx.Module):
    """WeightNormLinear (ports/mlp.py:0).

    `jaxgrad.nnx.load_state_dict` sets `v` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.v = nnx.Param(jnp.empty((8, 8), jnp.float64))
        self.g = nnx.Param(jnp.ones((8, 1), jnp.float64))
        self.bias = nnx.Param(jnp.empty(8, jnp.float64))

    def __call__(self, x):
        y = F.norm(self.v[...], dim=1, keepdim=True)
        return F.linear(x, self.g[...] * self.v[...] / y, self.bias[...])


class Block(nnx.Module):
    """Block (ports/mlp.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = Norm()
        self.linear = Linear(8, 8, dtype=jnp.float64, rngs=rngs)
        self.dropout = Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        return x + self.dropout(jax.nn.silu(self.linear(self.norm(x))))


class Norm(nnx.Module):
    """Divide by the unbiased std plus eps, as in the Annotated Transformer.

    Norm (ports/mlp.py:0).

    `jaxgrad.nnx.load_state_dict` sets `a_2` and `b_2`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.a_2 = nnx.Param(jnp.empty(8, jnp.float64))
        self.b_2 = nnx.Param(jnp.empty(8, jnp.float64))

    def __call__(self, x):
        mean, std = x.mean(axis=-1, keepdims=True), F.std(x, dim=-1, keepdim=True)
        return self.a_2[...] * (x - mean) / (std + 1e-6) + self.b_2[...]


class Probe(nnx.Module):
    """Probe (ports/mlp.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(8, 4, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        return self.linear(lax.stop_gradient(x))
