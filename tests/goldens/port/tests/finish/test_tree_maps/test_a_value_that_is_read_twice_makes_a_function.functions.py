"""JAX port of Assigned (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def assigned(p, x):
    """The target is changed through `.data`, with a value that is read twice.

    Assigned (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = assigned_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def assigned_update(p):
    """Assigned.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = dict(p)

    def updated(target, online):
        step = online - target
        return lax.stop_gradient(target + 0.1 * step * F.abs(step))

    p["target"] = jax.tree.map(updated, p["target"], p["online"])
    return p


def mlp(p, x):
    """Assigned.online and Assigned.target (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Assigned (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def assigned(p, x):
    """The target is changed through `.data`, with a value that is read twice.

    Assigned (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = assigned_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def assigned_update(p):
    """Assigned.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = dict(p)

    def updated(target, online):
        step = online - target
        return lax.stop_gradient(target + 0.1 * step * F.abs(step))

    p["target"] = jax.tree.map(updated, p["target"], p["online"])
    return p


def mlp(p, x):
    """Assigned.online and Assigned.target (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])
