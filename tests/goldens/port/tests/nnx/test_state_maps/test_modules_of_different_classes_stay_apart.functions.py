"""JAX port of Unlike (nnx/test_state_maps.py), written by jaxgrad.port for torch 2.13.

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


def unlike(p, x):
    """The classes of the networks differ, with the same parameters.

    Unlike (nnx/test_state_maps.py:0): x (N, 4) -> (N, 3), updated p.
    """
    p = update(p)
    x = (online_forward(p["online"], x) + target_forward(p["target"], x)) ** 2
    return x, p


def update(p, *, momentum=0.9):
    """Unlike.update (nnx/test_state_maps.py:0): returns updated p."""
    p = dict(p)
    target = jax.tree.map(
        lambda target, online: F.add(target * momentum, online, alpha=1 - momentum),
        p["target"],
        p["online"],
    )
    p["target"] = lax.stop_gradient(target)
    return p


def online_forward(p, x):
    """Unlike.online (nnx/test_state_maps.py:0): x (N, 4) -> (N, 3)."""
    for module in p:
        x = F.linear(x, **module)
    return x


def target_forward(p, x):
    """Unlike.target (nnx/test_state_maps.py:0): x (N, 4) -> (N, 3)."""
    for module in p:
        x = called(module, x)
    return x


def called(p, x):
    """A layer that is called in another way than the layers of torch.

    Called (nnx/test_state_maps.py:0): x (N, D) -> (N, D').
    """
    return F.linear(x, **p) + 1
