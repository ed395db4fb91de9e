"""JAX port of Last (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

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


def last_forward(p, x):
    """The last parameter is read after the loop.

    Last (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = jax.tree.map(lambda x: x, p)
    for i in range(0, 4, 2):
        k = p["target"][i]["weight"]
        k = lax.stop_gradient(k * 0.9)
        p["target"][i]["weight"] = k
        k = p["target"][i]["bias"]
        k = lax.stop_gradient(k * 0.9)
        p["target"][i]["bias"] = k
    last = lax.stop_gradient(k)
    x = mlp(p["online"], x) + mlp(p["target"], x) + last.sum()
    return x, p


def mlp(p, x):
    """Last.online and Last.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Last (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

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


def last_forward(p, x):
    """The last parameter is read after the loop.

    Last (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = jax.tree.map(lambda x: x, p)
    for i in range(0, 4, 2):
        k = p["target"][i]["weight"]
        k = lax.stop_gradient(k * 0.9)
        p["target"][i]["weight"] = k
        k = p["target"][i]["bias"]
        k = lax.stop_gradient(k * 0.9)
        p["target"][i]["bias"] = k
    last = lax.stop_gradient(k)
    x = mlp(p["online"], x) + mlp(p["target"], x) + last.sum()
    return x, p


def mlp(p, x):
    """Last.online and Last.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])
