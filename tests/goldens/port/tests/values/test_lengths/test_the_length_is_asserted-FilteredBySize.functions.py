"""JAX port of FilteredBySize (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- n < x.shape[1] - 1 (test_lengths.py:0)
- n >= x.shape[1] - 1 (test_lengths.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def filtered_by_size(p, x):
    """FilteredBySize (values/test_lengths.py:0): x (N, 4, 4) -> (N, 4)."""
    assert 0 < x.shape[1] - 1, (
        "this port holds for n < x.shape[1] - 1: torch takes another branch otherwise "
        "(test_lengths.py:0)"
    )
    assert 1 < x.shape[1] - 1, (
        "this port holds for n < x.shape[1] - 1: torch takes another branch otherwise "
        "(test_lengths.py:0)"
    )
    assert 2 < x.shape[1] - 1, (
        "this port holds for n < x.shape[1] - 1: torch takes another branch otherwise "
        "(test_lengths.py:0)"
    )
    assert 3 >= x.shape[1] - 1, (
        "this port holds for n >= x.shape[1] - 1: torch takes another branch otherwise "
        "(test_lengths.py:0)"
    )
    return (
        F.linear(x[:, 0], **p["linear"])
        + F.linear(x[:, 1], **p["linear"])
        + F.linear(x[:, 2], **p["linear"])
    )
