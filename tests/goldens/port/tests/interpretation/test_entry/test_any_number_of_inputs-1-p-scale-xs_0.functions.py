"""JAX port of Sum (interpretation/test_entry.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def sum_forward(p, scale, xs_0):
    """Add any number of inputs, each times a weight and a scale.

    Sum (interpretation/test_entry.py:0): scale (N, 3), xs_0 (N, 3) -> (N, 3).
    """
    return xs_0 * p["weight"] * scale
