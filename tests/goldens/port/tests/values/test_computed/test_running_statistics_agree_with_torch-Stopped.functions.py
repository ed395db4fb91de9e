"""JAX port of Stopped (values/test_computed.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: norm/running_mean, norm/running_var,
  norm/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def stopped(p, x, y, *, training=False):
    """Stopped (values/test_computed.py:0): x (N, 3), y (N, 3) -> (N, 2), updated p."""
    level_out, p = level(p, x, training=training)
    level_out_2, p = level(p, y, training=training)
    parts = [lax.stop_gradient(level_out[0]), lax.stop_gradient(level_out_2[0])]
    return parts[0] * parts[1] * F.linear(x, **p["a"]), p


def level(p, x, *, training):
    """Stopped.level (values/test_computed.py:0): x (N, 3) -> a (N, 2), b (N, 2), updated p."""
    p = dict(p)
    h, p["norm"] = batch_norm1d(p["norm"], x, training=training)
    return (F.linear(h, **p["a"]), F.linear(h, **p["b"])), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
