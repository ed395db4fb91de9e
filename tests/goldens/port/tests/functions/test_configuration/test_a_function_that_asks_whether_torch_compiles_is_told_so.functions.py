"""JAX port of Asking (functions/test_configuration.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def asking(p, x, keep):
    """Asking (functions/test_configuration.py:0): x (N, L), keep (N,) bool -> (N, L)."""
    return x * keep[..., None] * 2
