"""JAX port of OfParameters (values/test_ranks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def of_parameters(p, x):
    """OfParameters (values/test_ranks.py:0): x (N, L, 4) -> (N, L, 4)."""
    return x @ p["weight"]
