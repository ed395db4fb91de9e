"""JAX port of BYOL (port_collection/structured.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def byol(p, view1, view2, *, training=False):
    """A predictor of the outputs of a frozen copy, with a symmetric loss.

    BYOL (port_collection/structured.py:0): view1 (N, 4), view2 (N, 4) -> (), updated p.
    """
    p = dict(p)
    online_out, p["online"] = online_or_target(p["online"], view1, training=training)
    online_out_2, p["online"] = online_or_target(p["online"], view2, training=training)
    p1, p2 = F.linear(online_out, **p["predictor"]), F.linear(online_out_2, **p["predictor"])
    target_out, p["target"] = online_or_target(p["target"], view1, training=training)
    target_out_2, p["target"] = online_or_target(p["target"], view2, training=training)
    z1, z2 = lax.stop_gradient(target_out), lax.stop_gradient(target_out_2)
    return loss(p1, z2) + loss(p2, z1), p


def online_or_target(p, x, *, training):
    """BYOL.online and BYOL.target (port_collection/structured.py:0).

    x (N, 4) -> (N, 3), updated p.
    """
    p = list(p)
    x = F.linear(x, **p[0])
    x, p[1] = batch_norm1d(p[1], x, training=training)
    x = jax.nn.relu(x)
    return F.linear(x, **p[3]), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 5) -> (N, 5), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def loss(p_, z):
    """BYOL.loss (port_collection/structured.py:0): p_ (N, 3), z (N, 3) -> ()."""
    return 2 - 2 * F.cosine_similarity(p_, lax.stop_gradient(z), dim=-1).mean()
