"""JAX port of Padded (port/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- x.shape[1] <= 64 (test_port.py:0)
"""


def padded(p, x):
    """Padded (port/test_port.py:0): x (N, L) -> (N, L)."""
    assert x.shape[1] <= 64, (
        "this port holds for x.shape[1] <= 64: torch takes another branch otherwise "
        "(test_port.py:0)"
    )
    return x * 2
