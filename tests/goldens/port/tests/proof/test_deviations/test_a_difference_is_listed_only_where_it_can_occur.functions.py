"""JAX port of Harmless (proof/test_deviations.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax


def harmless(p, data):
    """Has an argument with the name of an attribute, a flag that is set, and a detached value.

    Harmless (proof/test_deviations.py:0): data (N, L) -> (N, L).
    """
    x = lax.stop_gradient(data)
    return x * 2
