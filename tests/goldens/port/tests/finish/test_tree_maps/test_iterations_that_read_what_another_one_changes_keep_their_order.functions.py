"""JAX port of Chained (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def chained(p, x):
    """The bias of each layer becomes the mean of the weight before it.

    Chained (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = chained_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def chained_update(p):
    """Chained.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    for i in range(0, 4, 2):
        k = p["target"][i]["weight"]
        k = k * momentum
        p["target"][i]["weight"] = lax.stop_gradient(k)
        weight = k
        k = p["target"][i]["bias"]
        k = jnp.broadcast_to(weight.mean(), (*k.shape,))
        p["target"][i]["bias"] = lax.stop_gradient(k)
    return p


def mlp(p, x):
    """Chained.online and Chained.target (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Chained (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def chained(p, x):
    """The bias of each layer becomes the mean of the weight before it.

    Chained (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = chained_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def chained_update(p):
    """Chained.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    for i in range(0, 4, 2):
        k = p["target"][i]["weight"]
        k = k * momentum
        p["target"][i]["weight"] = lax.stop_gradient(k)
        weight = k
        k = p["target"][i]["bias"]
        k = jnp.broadcast_to(weight.mean(), (*k.shape,))
        p["target"][i]["bias"] = lax.stop_gradient(k)
    return p


def mlp(p, x):
    """Chained.online and Chained.target (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])
