"""JAX port of Scaled (values/test_static_inputs.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def scaled(p, x, scale):
    """Scaled (values/test_static_inputs.py:0): x (N, L), scale () -> (N, L)."""
    return x * scale
