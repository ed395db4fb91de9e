"""JAX port of Net (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: first/skip/1/running_mean,
  first/skip/1/running_var, first/skip/1/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x, *, training=False):
    """Net (nnx/test_submodules.py:0): x (N, 4) -> (N, 5), updated p."""
    p = dict(p)
    x, p["first"] = first_deep(p["first"], x, training=training)
    return second_deep(p["second"], x), p


def first_deep(p, x, *, training):
    """The skip connection is itself a stack of layers.

    Deep (nnx/test_submodules.py:0): x (N, 4) -> (N, 5), updated p.
    """
    p = dict(p)
    shortcut, p["skip"] = skip(p["skip"], x, training=training)
    return jnp.tanh(F.linear(x, **p["lin"])) + shortcut, p


def skip(p, x, *, training):
    """Deep.skip (nnx/test_submodules.py:0): x (N, 4) -> (N, 5), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    x, p[1] = batch_norm1d(p[1], x, training=training)
    return x, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 5) -> (N, 5), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def second_deep(p, x):
    """The skip connection is itself a stack of layers.

    Deep (nnx/test_submodules.py:0): x (N, 5) -> (N, 5).
    """
    shortcut = x
    return jnp.tanh(F.linear(x, **p["lin"])) + shortcut
