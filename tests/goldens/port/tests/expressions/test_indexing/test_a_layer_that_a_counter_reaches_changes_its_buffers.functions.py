"""JAX port of Normed (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13.

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


def normed(p, x, *, training=False):
    """A loop's counter reaches a layer whose buffers change in train mode.

    Normed (expressions/test_indexing.py:0): x (N, 4) -> (N, 4), updated p.
    """
    p = jax.tree.map(lambda x: x, p)
    found = []
    for n in range(2):
        x, p["layers"][n] = layer(p["layers"][n], x, training=training)
        found.append(jnp.tanh(x))
    return sum(found), p


def layer(p, x, *, training):
    """Normed.layers[i] (expressions/test_indexing.py:0): x (N, 4) -> (N, 4), updated p."""
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

# ---- the next port of this test ----
"""JAX port of Normed (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13.

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


def normed(p, x, *, training=False):
    """A loop's counter reaches a layer whose buffers change in train mode.

    Normed (expressions/test_indexing.py:0): x (N, 4) -> (N, 4), updated p.
    """
    p = jax.tree.map(lambda x: x, p)
    found = []
    for n in range(2):
        x, p["layers"][n] = layer(p["layers"][n], x, training=training)
        found.append(jnp.tanh(x))
    return sum(found), p


def layer(p, x, *, training):
    """Normed.layers[i] (expressions/test_indexing.py:0): x (N, 4) -> (N, 4), updated p."""
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

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x):
    """torch.nn.Sequential: x (N, 4) -> (N, 4)."""
    return F.linear(x, **p[0])
