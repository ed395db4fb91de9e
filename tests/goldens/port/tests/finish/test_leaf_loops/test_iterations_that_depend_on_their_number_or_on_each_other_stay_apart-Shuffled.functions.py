"""JAX port of Shuffled (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

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


def shuffled(p, x):
    """A parameter takes the value of another one of the same tree.

    Shuffled (finish/test_tree_maps.py:0): x (N, 4) -> (N, 4), updated p.
    """
    p = shuffled_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def shuffled_update(p):
    """Shuffled.update (finish/test_leaf_loops.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_leaf_loops.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    for n in range(3):
        p["target"][n]["weight"] = lax.stop_gradient(p["target"][n + 1]["weight"])
    return p


def mlp(p, x):
    """Shuffled.online and Shuffled.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 4)."""
    for module in p:
        x = F.linear(x, **module)
    return x

# ---- the next port of this test ----
"""JAX port of Shuffled (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

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


def shuffled(p, x):
    """A parameter takes the value of another one of the same tree.

    Shuffled (finish/test_tree_maps.py:0): x (N, 4) -> (N, 4), updated p.
    """
    p = shuffled_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def shuffled_update(p):
    """Shuffled.update (finish/test_leaf_loops.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_leaf_loops.py:0): returns updated p."""
    p = jax.tree.map(lambda x: x, p)
    for n in range(3):
        p["target"][n]["weight"] = lax.stop_gradient(p["target"][n + 1]["weight"])
    return p


def mlp(p, x):
    """Shuffled.online and Shuffled.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 4)."""
    for module in p:
        x = F.linear(x, **module)
    return x
