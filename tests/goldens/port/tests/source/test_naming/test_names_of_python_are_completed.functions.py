"""JAX port of Lambda (source/test_naming.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def lambda_forward(p, x):
    """Lambda (source/test_naming.py:0): x (N, L) -> (N, L)."""
    return x * max(2.0, x.shape[0])
