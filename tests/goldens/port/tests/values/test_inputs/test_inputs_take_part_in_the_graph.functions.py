"""JAX port of Asks (values/test_inputs.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def asks(p, x):
    """It asks whether its input takes part in the graph, as quantizers do.

    Asks (values/test_inputs.py:0): x (N, L) -> (N, L).
    """
    return x + lax.stop_gradient(F.round(x) - x)
