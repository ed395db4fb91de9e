"""JAX port of Cached (functions/test_configuration.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def cached(p, x):
    """Cached (functions/test_configuration.py:0): x (N, L) -> (N, L)."""
    return x * 2
