"""JAX port of Unlike (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: online/1/running_mean, online/1/running_var,
  online/1/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def unlike(p, x, *, training=False):
    """The trees differ: the target is not called, and holds nothing but its parameters.

    Unlike (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = dict(p)
    p = unlike_update(p)
    x, p["online"] = online(p["online"], x, training=training)
    x = x + sum(
        [
            k.sum() for k in [
                p["target"][0]["weight"],
                p["target"][0]["bias"],
                p["target"][1]["weight"],
                p["target"][1]["bias"],
                p["target"][2]["weight"],
                p["target"][2]["bias"],
            ]
        ]
    )
    return x, p


def unlike_update(p):
    """Unlike.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    for i in range(3):
        k = p["target"][i]["weight"]
        k = k * momentum
        k = F.add(k, p["online"][i]["weight"], alpha=1 - momentum)
        p["target"][i]["weight"] = lax.stop_gradient(k)
        k = p["target"][i]["bias"]
        k = k * momentum
        k = F.add(k, p["online"][i]["bias"], alpha=1 - momentum)
        p["target"][i]["bias"] = lax.stop_gradient(k)
    return p


def online(p, x, *, training):
    """Unlike.online (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    x, p[1] = batch_norm1d(p[1], x, training=training)
    return F.linear(x, **p[2]), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 5) -> (N, 5), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p

# ---- the next port of this test ----
"""JAX port of Unlike (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: online/1/running_mean, online/1/running_var,
  online/1/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def unlike(p, x, *, training=False):
    """The trees differ: the target is not called, and holds nothing but its parameters.

    Unlike (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = dict(p)
    p = unlike_update(p)
    x, p["online"] = online(p["online"], x, training=training)
    x = x + sum(
        [
            k.sum() for k in [
                p["target"][0]["weight"],
                p["target"][0]["bias"],
                p["target"][1]["weight"],
                p["target"][1]["bias"],
                p["target"][2]["weight"],
                p["target"][2]["bias"],
            ]
        ]
    )
    return x, p


def unlike_update(p):
    """Unlike.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    for i in range(3):
        k = p["target"][i]["weight"]
        k = k * momentum
        k = F.add(k, p["online"][i]["weight"], alpha=1 - momentum)
        p["target"][i]["weight"] = lax.stop_gradient(k)
        k = p["target"][i]["bias"]
        k = k * momentum
        k = F.add(k, p["online"][i]["bias"], alpha=1 - momentum)
        p["target"][i]["bias"] = lax.stop_gradient(k)
    return p


def online(p, x, *, training):
    """Unlike.online (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    x, p[1] = batch_norm1d(p[1], x, training=training)
    return F.linear(x, **p[2]), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 5) -> (N, 5), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
