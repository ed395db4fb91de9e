"""JAX port of Loaded (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def loaded(p, x):
    """Loaded (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p."""
    p = loaded_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def loaded_update(p):
    """Loaded.update (finish/test_leaf_loops.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_leaf_loops.py:0): returns updated p."""
    p = dict(p)
    p["target"] = lax.stop_gradient(p["online"])
    return p


def mlp(p, x):
    """Loaded.online and Loaded.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Loaded (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def loaded(p, x):
    """Loaded (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p."""
    p = loaded_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def loaded_update(p):
    """Loaded.update (finish/test_leaf_loops.py:0): returns updated p."""
    return update(p)


def update(p):
    """update (finish/test_leaf_loops.py:0): returns updated p."""
    p = dict(p)
    p["target"] = lax.stop_gradient(p["online"])
    return p


def mlp(p, x):
    """Loaded.online and Loaded.target (finish/test_leaf_loops.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])
