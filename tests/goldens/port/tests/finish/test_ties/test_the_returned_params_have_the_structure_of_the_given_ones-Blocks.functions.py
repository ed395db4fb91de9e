"""JAX port of Blocks (finish/test_ties.py), written by jaxgrad.port for torch 2.13.

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


def blocks_forward(p, x, *, training=False):
    """A weight that the first layer shares with each block of a list, beside untied parameters.

    Blocks (finish/test_ties.py:0): x (N, 3) -> (N, 3), updated p.
    """
    given = p
    p = jax.tree.map(lambda x: x, p)
    p["blocks"][0]["fc"]["weight"] = p["first"]["weight"]  # tied
    p["blocks"][1]["fc"]["weight"] = p["first"]["weight"]  # tied
    x = F.linear(x, **p["first"])
    blocks = []
    for block in p["blocks"]:
        x, block = block_forward(block, x, training=training)
        blocks.append(block)
    p["blocks"] = blocks
    return x, without_tied(p, given)


def block_forward(p, x, *, training):
    """Block (finish/test_ties.py:0): x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    x, p["norm"] = batch_norm1d(p["norm"], jnp.tanh(F.linear(x, **p["fc"])), training=training)
    return x, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def without_tied(p, given):
    """Return params without the tied leaves that the given params do not have."""
    if isinstance(given, dict):
        return {k: without_tied(p[k], x) for k, x in given.items()}
    if isinstance(given, list):
        return [without_tied(x, y) for x, y in zip(p, given, strict=True)]
    return p
