"""JAX port of Pairs (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13.

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


def pairs(p, x, *, training=False):
    """Pairs (loops/test_loop_statements.py:0): x (N, 3) -> (N, 3), updated p."""
    p = jax.tree.map(lambda x: x, p)
    for i, scale in enumerate((2.0, 3.0)):
        x, p["pairs"][i][0] = batch_norm1d(p["pairs"][i][0], x, training=training)
        x, p["pairs"][i][1] = normed(p["pairs"][i][1], x, scale=scale, training=training)
    return x, p


def normed(p, x, *, scale, training):
    """Normed (loops/test_loop_statements.py:0): x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    x, p["norm"] = batch_norm1d(p["norm"], x, training=training)
    return jnp.sin(x) * scale, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p

# ---- the next port of this test ----
"""JAX port of Pairs (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13.

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


def pairs(p, x, *, training=False):
    """Pairs (loops/test_loop_statements.py:0): x (N, 3) -> (N, 3), updated p."""
    p = jax.tree.map(lambda x: x, p)
    for i, scale in enumerate((2.0, 3.0)):
        x, p["pairs"][i][0] = batch_norm1d(p["pairs"][i][0], x, training=training)
        x, p["pairs"][i][1] = normed(p["pairs"][i][1], x, scale=scale, training=training)
    return x, p


def normed(p, x, *, scale, training):
    """Normed (loops/test_loop_statements.py:0): x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    x, p["norm"] = batch_norm1d(p["norm"], x, training=training)
    return jnp.sin(x) * scale, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
