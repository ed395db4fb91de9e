"""JAX port of Squeezed (values/test_ranks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- y.ndim == 2 (test_ranks.py:0)
"""


def squeezed(p, x):
    """Squeezed (values/test_ranks.py:0): x (1, L, D) -> (D,)."""
    y = x.squeeze()
    assert y.ndim == 2, (
        "this port holds for y.ndim == 2: torch takes another branch otherwise (test_ranks.py:0)"
    )
    return y.sum(axis=0)
