"""JAX port of Listed (finish/test_updates.py), written by jaxgrad.port for torch 2.13.

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


def listed(p, x, *, training=False):
    """The layers of a list, in an order that no loop of the port has.

    Listed (finish/test_updates.py:0): x (N, 3) -> (N, 3), updated p.
    """
    p = jax.tree.map(lambda x: x, p)
    module_out, p["layers"][0] = batch_norm1d(p["layers"][0], x, training=training)
    module_out = jnp.sin(module_out)
    module_out, p["layers"][1] = batch_norm1d(p["layers"][1], module_out, training=training)
    return module_out, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
