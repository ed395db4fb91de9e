"""JAX port of State (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jaxgrad
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def state(p, x, *, training=False):
    """The floating tensors of a state_dict are averaged, and the counter is copied.

    State (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = dict(p)
    p = state_update(p)
    online_out, p["online"] = online_or_target(p["online"], x, training=training)
    x, p["target"] = online_or_target(p["target"], x, training=training)
    return (online_out + x) ** 2, p


def state_update(p):
    """State.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    target, rest = jaxgrad.partition(p["target"], is_changed)
    online, _ = jaxgrad.partition(p["online"], is_changed)
    target = jax.tree.map(
        lambda target, online: momentum * target + (1 - momentum) * online, target, online
    )
    p["target"] = jaxgrad.combine(lax.stop_gradient(target), rest)
    k = p["online"][1]["num_batches_tracked"]
    p["target"][1]["num_batches_tracked"] = k
    return p


def is_changed(name, _):
    """Return whether a leaf is one of those that change."""
    return name != "1/num_batches_tracked"


def online_or_target(p, x, *, training):
    """State.online and State.target (finish/test_tree_maps.py:0).

    x (N, 4) -> (N, 3), updated p.
    """
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
"""JAX port of State (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jaxgrad
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def state(p, x, *, training=False):
    """The floating tensors of a state_dict are averaged, and the counter is copied.

    State (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = dict(p)
    p = state_update(p)
    online_out, p["online"] = online_or_target(p["online"], x, training=training)
    x, p["target"] = online_or_target(p["target"], x, training=training)
    return (online_out + x) ** 2, p


def state_update(p):
    """State.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    target, rest = jaxgrad.partition(p["target"], is_changed)
    online, _ = jaxgrad.partition(p["online"], is_changed)
    target = jax.tree.map(
        lambda target, online: momentum * target + (1 - momentum) * online, target, online
    )
    p["target"] = jaxgrad.combine(lax.stop_gradient(target), rest)
    k = p["online"][1]["num_batches_tracked"]
    p["target"][1]["num_batches_tracked"] = k
    return p


def is_changed(name, _):
    """Return whether a leaf is one of those that change."""
    return name != "1/num_batches_tracked"


def online_or_target(p, x, *, training):
    """State.online and State.target (finish/test_tree_maps.py:0).

    x (N, 4) -> (N, 3), updated p.
    """
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
