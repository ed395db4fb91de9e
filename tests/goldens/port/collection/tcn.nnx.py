"""JAX port of TCN (port_collection/sequence.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Conv1d, Dropout, weight_norm


class TCN(nnx.Module):
    """TCN (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.network = nnx.Sequential(
            TemporalBlock(
                in_channels=2, padding=1, downsample=Conv1d(2, 3, 1, rngs=rngs), rngs=rngs
            ),
            TemporalBlock(in_channels=3, padding=2, rngs=rngs),
        )

    def __call__(self, x):
        return self.network(x)[:, :, -1]


class TemporalBlock(nnx.Module):
    """TemporalBlock (port_collection/sequence.py:0)."""

    def __init__(self, in_channels, padding, downsample=nnx.identity, *, rngs: nnx.Rngs):
        self.net = nnx.Sequential(
            weight_norm(Conv1d(in_channels, 3, 2, padding=padding, dilation=padding, rngs=rngs)),
            Chomp1d(chomp_size=padding),
            jax.nn.relu,
            Dropout(0.2, rngs=rngs),
        )
        self.downsample = downsample

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
