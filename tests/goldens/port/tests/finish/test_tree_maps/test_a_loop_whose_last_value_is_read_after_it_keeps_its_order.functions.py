"""JAX port of Left (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

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


def left(p, x):
    """The variable of the loop is read after it.

    Left (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = left_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def left_update(p):
    """Left.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    for i in range(0, 4, 2):
        k = p["target"][i]["weight"]
        new = k * momentum + p["online"][i]["weight"]
        k = new
        p["target"][i]["weight"] = lax.stop_gradient(k)
        new = p["online"][i]["bias"] * 0.5
        k = new
        p["target"][i]["bias"] = lax.stop_gradient(k)
    total = new.sum()
    first = p["target"][0]["weight"]
    first = first + total
    p["target"][0]["weight"] = lax.stop_gradient(first)
    return p


def mlp(p, x):
    """Left.online and Left.target (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])
