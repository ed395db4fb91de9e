"""JAX port of Averaged (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

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


def averaged(p, x):
    """A network whose target is the moving average of another one.

    Averaged (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = averaged_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def averaged_update(p):
    """Averaged.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = dict(p)
    target = jax.tree.map(
        lambda target, online: F.add(target * momentum, online, alpha=1 - momentum),
        p["target"],
        p["online"],
    )
    p["target"] = lax.stop_gradient(target)
    return p


def mlp(p, x):
    """Averaged.online and Averaged.target (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Averaged (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

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


def averaged(p, x):
    """A network whose target is the moving average of another one.

    Averaged (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = averaged_update(p)
    return (mlp(p["online"], x) + mlp(p["target"], x)) ** 2, p


def averaged_update(p):
    """Averaged.update (finish/test_tree_maps.py:0): returns updated p."""
    return update(p)


def update(p, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0): returns updated p."""
    p = dict(p)
    target = jax.tree.map(
        lambda target, online: F.add(target * momentum, online, alpha=1 - momentum),
        p["target"],
        p["online"],
    )
    p["target"] = lax.stop_gradient(target)
    return p


def mlp(p, x):
    """Averaged.online and Averaged.target (finish/test_tree_maps.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])
