"""JAX port of Decayed (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

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


def decayed(p, x):
    """Each parameter has its own momentum.

    Decayed (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = decayed_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def decayed_update(p):
    """Decayed.update (finish/test_leaf_loops.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_leaf_loops.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    online = [
        p["online"][0]["weight"],
        p["online"][0]["bias"],
        p["online"][2]["weight"],
        p["online"][2]["bias"],
    ]
    target = [
        p["target"][0]["weight"],
        p["target"][0]["bias"],
        p["target"][2]["weight"],
        p["target"][2]["bias"],
    ]
    k = target[0]
    k = F.lerp(k, online[0], 0.1 * (0 + 1))
    p["target"][0]["weight"] = lax.stop_gradient(k)
    k = target[1]
    k = F.lerp(k, online[1], 0.1 * (1 + 1))
    p["target"][0]["bias"] = lax.stop_gradient(k)
    k = target[2]
    k = F.lerp(k, online[2], 0.1 * (2 + 1))
    p["target"][2]["weight"] = lax.stop_gradient(k)
    k = target[3]
    k = F.lerp(k, online[3], 0.1 * (3 + 1))
    p["target"][2]["bias"] = lax.stop_gradient(k)
    return p


def mlp(p, x):
    """Decayed.online and Decayed.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Decayed (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

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


def decayed(p, x):
    """Each parameter has its own momentum.

    Decayed (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = decayed_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def decayed_update(p):
    """Decayed.update (finish/test_leaf_loops.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_leaf_loops.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    online = [
        p["online"][0]["weight"],
        p["online"][0]["bias"],
        p["online"][2]["weight"],
        p["online"][2]["bias"],
    ]
    target = [
        p["target"][0]["weight"],
        p["target"][0]["bias"],
        p["target"][2]["weight"],
        p["target"][2]["bias"],
    ]
    k = target[0]
    k = F.lerp(k, online[0], 0.1 * (0 + 1))
    p["target"][0]["weight"] = lax.stop_gradient(k)
    k = target[1]
    k = F.lerp(k, online[1], 0.1 * (1 + 1))
    p["target"][0]["bias"] = lax.stop_gradient(k)
    k = target[2]
    k = F.lerp(k, online[2], 0.1 * (2 + 1))
    p["target"][2]["weight"] = lax.stop_gradient(k)
    k = target[3]
    k = F.lerp(k, online[3], 0.1 * (3 + 1))
    p["target"][2]["bias"] = lax.stop_gradient(k)
    return p


def mlp(p, x):
    """Decayed.online and Decayed.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])
