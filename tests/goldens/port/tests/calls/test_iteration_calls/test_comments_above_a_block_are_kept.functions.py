"""JAX port of Commented (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def commented(p, x):
    """Commented (calls/test_iteration_calls.py:0): x (N, 3) -> (N, 3)."""
    # the target does not move
    target = lax.stop_gradient(x * 2)
    # two layers
    for n in range(2):
        x = F.linear(x, **p["linear"]) * (n + 1.5)
    # powers
    x = x**2
    x = x**3
    return x - target
