"""JAX port of PointNet (port_collection/points.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def pointnet(p, points, *, training=False):
    """PointNet (port_collection/points.py:0).

    points (batchsize, 3, L) -> head (batchsize, 4), reg (), updated p.
    """
    p = dict(p)
    trans, p["stn"] = tnet(p["stn"], points, training=training)
    x = (points.swapaxes(2, 1) @ trans).swapaxes(2, 1)
    x, p["bn"] = batch_norm1d(p["bn"], F.conv1d(x, **p["conv"]), training=training)
    x = F.max(x, dim=-1).values
    eye = jnp.eye(3)[None]
    reg = F.norm(trans @ trans.swapaxes(2, 1) - eye, dim=(1, 2)).mean()
    return (jax.nn.log_softmax(F.linear(x, **p["head"]), axis=1), reg), p


def tnet(p, x, *, k=3, training):
    """TNet (port_collection/points.py:0): x (batchsize, 3, L) -> (batchsize, 3, 3), updated p."""
    p = dict(p)
    batchsize = x.shape[0]
    x, p["bn1"] = batch_norm1d(p["bn1"], F.conv1d(x, **p["conv1"]), training=training)
    x = jax.nn.relu(x)
    x, p["bn2"] = batch_norm1d(p["bn2"], F.conv1d(x, **p["conv2"]), training=training)
    x = jax.nn.relu(x)
    x = F.max(x, dim=2, keepdim=True).values
    x = F.linear(x.reshape(-1, 6), **p["fc"])
    iden = jnp.tile(jnp.eye(k).reshape(-1).reshape(1, k**2), (batchsize, 1))
    return (x + iden).reshape(-1, k, k), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (batchsize, M, L) -> (batchsize, M, L), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
