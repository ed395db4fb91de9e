"""JAX port of Net (ports/batch_norm.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: bn/running_mean, bn/running_var,
  bn/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x, *, training=False):
    """Net (ports/batch_norm.py:0): x (N, 2, H, W) -> (N, 2), updated p."""
    p = dict(p)
    x, p["bn"] = batch_norm2d(p["bn"], F.conv2d(x, **p["conv"], padding=1), training=training)
    x = F.linear(jax.nn.relu(x).mean(axis=(2, 3)), **p["fc"])
    return x, p


def batch_norm2d(p, x, *, training):
    """torch.nn.BatchNorm2d: x (N, 3, H, W) -> (N, 3, H, W), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
