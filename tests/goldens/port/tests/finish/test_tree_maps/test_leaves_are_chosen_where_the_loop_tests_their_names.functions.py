"""JAX port of Weights (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
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


def weights(p, x):
    """The biases are left alone.

    Weights (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = weights_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def weights_update(p):
    """Weights.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = dict(p)
    target, rest = jaxgrad.partition(p["target"], is_changed)
    online, _ = jaxgrad.partition(p["online"], is_changed)
    target = jax.tree.map(lambda target, online: F.lerp(target, online, 0.1), target, online)
    p["target"] = jaxgrad.combine(lax.stop_gradient(target), rest)
    return p


def is_changed(name, _):
    """Return whether a leaf is one of those that change."""
    return name.split("/")[-1] == "weight"


def mlp(p, x):
    """Weights.online and Weights.target (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    x = F.linear(x, **p[2])
    x = F.linear(x, **p[3])
    return F.linear(x, **p[4])

# ---- the next port of this test ----
"""JAX port of Weights (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
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


def weights(p, x):
    """The biases are left alone.

    Weights (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = weights_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def weights_update(p):
    """Weights.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = dict(p)
    target, rest = jaxgrad.partition(p["target"], is_changed)
    online, _ = jaxgrad.partition(p["online"], is_changed)
    target = jax.tree.map(lambda target, online: F.lerp(target, online, 0.1), target, online)
    p["target"] = jaxgrad.combine(lax.stop_gradient(target), rest)
    return p


def is_changed(name, _):
    """Return whether a leaf is one of those that change."""
    return name.split("/")[-1] == "weight"


def mlp(p, x):
    """Weights.online and Weights.target (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    x = F.linear(x, **p[2])
    x = F.linear(x, **p[3])
    return F.linear(x, **p[4])
