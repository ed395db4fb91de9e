"""JAX port of Listed (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
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


def listed(p, x):
    """The parameters are in lists that have names.

    Listed (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = listed_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def listed_update(p):
    """Listed.update (finish/test_leaf_loops.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_leaf_loops.py:0): returns updated p."""
    p = dict(p)
    target = jax.tree.map(
        lambda target, online: F.lerp(target, online, 0.1), p["target"], p["online"]
    )
    p["target"] = lax.stop_gradient(target)
    return p


def mlp(p, x):
    """Listed.online and Listed.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Listed (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
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


def listed(p, x):
    """The parameters are in lists that have names.

    Listed (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = listed_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def listed_update(p):
    """Listed.update (finish/test_leaf_loops.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_leaf_loops.py:0): returns updated p."""
    p = dict(p)
    target = jax.tree.map(
        lambda target, online: F.lerp(target, online, 0.1), p["target"], p["online"]
    )
    p["target"] = lax.stop_gradient(target)
    return p


def mlp(p, x):
    """Listed.online and Listed.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])
