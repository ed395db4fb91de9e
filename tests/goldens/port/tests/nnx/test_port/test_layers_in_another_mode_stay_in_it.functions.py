"""JAX port of Tower (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

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


def tower(p, x, *, training=False):
    """Tower (nnx/test_port.py:0): x (N, 3) -> (N, 3), updated p."""
    p = jax.tree.map(lambda x: x, p)
    x, p["units"][0] = unit(p["units"][0], x, training=training)
    x = unit_1(p["units"][1], x)
    wide_out, p["wide"] = wide(p["wide"], x, training=training)
    x = F.linear(wide_out + F.linear(x, **p["head"]), **p["out"])
    return x, p


def unit_1(p, x):
    """Unit (nnx/test_port.py:0): x (N, 3) -> (N, 3)."""
    # half of the residual branch
    return x + 0.5 * jnp.tanh(batch_norm1d_1(p["norm"], F.linear(x, **p["fc"])))


def batch_norm1d_1(p, x):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3)."""
    return F.batch_norm(x, p["running_mean"], p["running_var"], p["weight"], p["bias"]).output


def wide(p, x, *, training):
    """Tower.wide (nnx/test_port.py:0): x (N, 3) -> (N, 4), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    x, p[2] = unit(p[2], x, training=training)
    return F.gelu(x, approximate="tanh"), p


def unit(p, x, *, training):
    """Unit (nnx/test_port.py:0): x (N, D) -> (N, D), updated p."""
    p = dict(p)
    # half of the residual branch
    norm_out, p["norm"] = batch_norm1d(p["norm"], F.linear(x, **p["fc"]), training=training)
    return x + 0.5 * jnp.tanh(norm_out), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, D) -> (N, D), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
