"""JAX port of PointNet (port_collection/points.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Conv1d, Linear

F = functional.at("2.13")


class PointNet(nnx.Module):
    """PointNet (port_collection/points.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.stn = TNet(rngs=rngs)
        self.conv = Conv1d(3, 5, 1, rngs=rngs)
        self.bn = BatchNorm1d(5)
        self.head = Linear(5, 4, rngs=rngs)

    def __call__(self, points):
        trans = self.stn(points)
        x = (points.swapaxes(2, 1) @ trans).swapaxes(2, 1)
        x = F.max(self.bn(self.conv(x)), dim=-1).values
        eye = jnp.eye(3)[None]
        reg = F.norm(trans @ trans.swapaxes(2, 1) - eye, dim=(1, 2)).mean()
        return jax.nn.log_softmax(self.head(x), axis=1), reg


class TNet(nnx.Module):
    """TNet (port_collection/points.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.k = 3
        self.conv1 = Conv1d(3, 4, 1, rngs=rngs)
        self.conv2 = Conv1d(4, 6, 1, rngs=rngs)
        self.fc = Linear(6, 9, rngs=rngs)
        self.bn1 = BatchNorm1d(4)
        self.bn2 = BatchNorm1d(6)

    def __call__(self, x):
        batchsize = x.shape[0]
        x = jax.nn.relu(self.bn1(self.conv1(x)))
        x = jax.nn.relu(self.bn2(self.conv2(x)))
        x = F.max(x, dim=2, keepdim=True).values
        x = self.fc(x.reshape(-1, 6))
        iden = jnp.tile(jnp.eye(self.k).reshape(-1).reshape(1, self.k**2), (batchsize, 1))
        return (x + iden).reshape(-1, self.k, self.k)
