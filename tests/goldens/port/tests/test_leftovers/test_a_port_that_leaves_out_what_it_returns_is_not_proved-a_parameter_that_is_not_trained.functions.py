"""JAX port of Kind (port/test_leftovers.py), written by jaxgrad.port for torch 2.13.

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


def a_parameter_that_is_not_trained(p, x):
    """Kind.a_parameter_that_is_not_trained (port/test_leftovers.py:0).

    x (N, 3) -> (N, 2), updated p.
    """
    p = dict(p)
    y = F.linear(x, **p["fc"]) - F.linear(x, **p["target"])
    target = jax.tree.map(
        lambda target, fc: F.add(target * 0.9, fc, alpha=0.1), p["target"], p["fc"]
    )
    p["target"] = lax.stop_gradient(target)
    return y, p
