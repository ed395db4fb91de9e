"""JAX port of Norms (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: first/norm/running_mean, first/norm/running_var,
  first/norm/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def norms(p, x, *, training=False):
    """Norms (nnx/test_submodules.py:0): x (N, 4) -> (N, 6), updated p."""
    p = dict(p)
    x, p["first"] = first_normed(p["first"], x, training=training)
    return second_normed(p["second"], x), p


def first_normed(p, x, *, training):
    """The norm is of one of two kinds.

    Normed (nnx/test_submodules.py:0): x (N, 4) -> (N, 6), updated p.
    """
    p = dict(p)
    x, p["norm"] = batch_norm1d(p["norm"], F.linear(x, **p["lin"]), training=training)
    return jax.nn.relu(x), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 6) -> (N, 6), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def second_normed(p, x):
    """The norm is of one of two kinds.

    Normed (nnx/test_submodules.py:0): x (N, 6) -> (N, 6).
    """
    return jax.nn.relu(F.group_norm(F.linear(x, **p["lin"]), 2, **p["norm"]))
