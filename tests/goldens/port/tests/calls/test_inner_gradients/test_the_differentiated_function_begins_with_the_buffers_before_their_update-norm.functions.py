"""JAX port of Penalized (calls/test_inner_gradients.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: network/1/running_mean, network/1/running_var,
  network/1/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def penalized(p, x, *, training=False):
    """The gradient of a network that is called for its output too, and changes its buffers.

    Penalized (calls/test_inner_gradients.py:0): x (N, 3) -> (N, 3), updated p.
    """
    p = dict(p)
    network_out, p["network"] = network(p["network"], x, training=training)
    y = network_out
    mixed = lax.stop_gradient(0.5 * x)
    earlier = dict(p)
    network_out_2, p["network"] = network(p["network"], mixed, training=training)

    def value(mixed, p=earlier):
        p = dict(p)
        network_out_2, p["network"] = network(p["network"], mixed, training=training)
        return jnp.tanh(network_out_2).sum()

    grad = jax.grad(value)(mixed)
    return y + grad, p


def network(p, x, *, training):
    """Penalized.network (calls/test_inner_gradients.py:0): x (N, 3) -> (N, 3), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    x, p[1] = batch_norm1d(p[1], x, training=training)
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
