"""JAX port of Tower (models/modes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def tower(p, x, *, rng=None, training=False):
    """Tower (models/modes.py:0): x (N, 2, H, W) -> (N, 5), updated p."""
    p = dict(p)
    units = []
    for unit, unit_rng in zip(p["units"], split_rng(rng, len(p["units"]))):
        x, unit = unit_forward(unit, x, rng=unit_rng, training=training)
        units.append(unit)
    p["units"] = units
    return F.linear(x.mean(axis=(2, 3)), **p["head"]), p


def unit_forward(p, x, *, rng, training):
    """Unit (models/modes.py:0): x (N, 2, H, W) -> (N, 2, H, W), updated p."""
    p = dict(p)
    norm_out = F.conv2d(x, **p["conv"], padding=1)
    norm_out, p["norm"] = batch_norm2d(p["norm"], norm_out, training=training)
    x = x + F.dropout(jax.nn.relu(norm_out), p=0.1, training=training, key=rng)
    return x, p


def batch_norm2d(p, x, *, training):
    """torch.nn.BatchNorm2d: x (N, 2, H, W) -> (N, 2, H, W), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
