"""JAX port of TCN (port_collection/sequence.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Conv1d, Dropout, weight_norm


class TCN(nnx.Module):
    """TCN (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.network = nnx.Sequential(TemporalBlock(rngs=rngs), TemporalBlock2(rngs=rngs))

    def __call__(self, x):
        return self.network(x)[:, :, -1]


class TemporalBlock(nnx.Module):
    """TemporalBlock (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.net = nnx.Sequential(
            weight_norm(Conv1d(2, 3, 2, padding=1, rngs=rngs)),
            Chomp1d(chomp_size=1),
            jax.nn.relu,
            Dropout(0.2, rngs=rngs),
        )
        self.downsample = Conv1d(2, 3, 1, rngs=rngs)

    def __call__(self, x):
        out = self.net(x)
        res = self.downsample(x)
        return jax.nn.relu(out + res)


class Chomp1d(nnx.Module):
    """Chomp1d (port_collection/sequence.py:0)."""

    def __init__(self, chomp_size):
        self.chomp_size = chomp_size

    def __call__(self, x):
        return x[:, :, : -self.chomp_size]


class TemporalBlock2(nnx.Module):
    """TemporalBlock (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.net = nnx.Sequential(
            weight_norm(Conv1d(3, 3, 2, padding=2, dilation=2, rngs=rngs)),
            Chomp1d(chomp_size=2),
            jax.nn.relu,
            Dropout(0.2, rngs=rngs),
        )

    def __call__(self, x):
        out = self.net(x)
        res = x
        return jax.nn.relu(out + res)
