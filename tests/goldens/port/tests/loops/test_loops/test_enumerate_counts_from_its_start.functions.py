"""JAX port of Started (loops/test_loops.py), written by jaxgrad.port for torch 2.13.

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


def started(p, x, *, training=False):
    """Elements of a list are replaced in a loop that counts from one; the norms have buffers.

    Started (loops/test_loops.py:0): x (N, 4) -> (N, 12), updated p.
    """
    p = jax.tree.map(lambda x: x, p)
    found = [x, jnp.sin(x), jnp.cos(x)]
    module_out, p["layers"][0] = batch_norm1d(p["layers"][0], found[1], training=training)
    pairs, p["layers"][1] = batch_norm1d(p["layers"][1], found[2], training=training)
    pairs = [(1, found[0]), (2, module_out), (3, pairs)]
    y = jnp.concatenate([pairs[0][1] * 1, pairs[1][1] * 2, pairs[2][1] * 3], axis=1)
    return y, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 4) -> (N, 4), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
