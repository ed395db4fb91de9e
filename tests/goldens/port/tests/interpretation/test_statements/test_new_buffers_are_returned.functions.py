"""JAX port of Statistics (interpretation/test_statements.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def statistics(p, x, *, training=False):
    """Batch norm in train mode, in a loop and in a sequence.

    Statistics (interpretation/test_statements.py:0): x (N, 4) -> (N, 4), updated p.
    """
    p = dict(p)
    units = []
    for unit in p["units"]:
        module_out, unit = unit_forward(unit, x, training=training)
        x = x + module_out
        units.append(unit)
    p["units"] = units
    x, p["last"] = last(p["last"], x, training=training)
    return x, p


def unit_forward(p, x, *, training):
    """Statistics.units[i] (interpretation/test_statements.py:0): x (N, 4) -> (N, 4), updated p."""
    p = list(p)
    x, p[0] = batch_norm1d(p[0], x, training=training)
    return jnp.tanh(x), p


def last(p, x, *, training):
    """Statistics.last (interpretation/test_statements.py:0): x (N, 4) -> (N, 4), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    x, p[1] = batch_norm1d(p[1], x, training=training)
    return x, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 4) -> (N, 4), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
