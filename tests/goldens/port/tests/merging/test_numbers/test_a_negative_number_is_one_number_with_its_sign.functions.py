"""JAX port of Shifts (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def shifts(p, x):
    """Shifts (merging/test_numbers.py:0): x (N, L, 8) -> (N, L, 8)."""
    return shift(p["second"], shift(p["first"], x, axis=-1, offset=-0.5), axis=-2, offset=-0.25)


def shift(p, x, *, axis, offset):
    """Shift (merging/test_numbers.py:0): x (N, L, 8) -> (N, L, 8)."""
    total = -1
    for _ in range(3):
        total = total + x.sum(axis=axis, keepdims=True)
    return x * p["weight"] + offset + total

# ---- the next port of this test ----
"""JAX port of Shifts (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def shifts(p, x):
    """Shifts (merging/test_numbers.py:0): x (N, L, 8) -> (N, L, 8)."""
    return shift(p["second"], shift(p["first"], x, axis=-1, offset=-0.5), axis=-2, offset=-0.25)


def shift(p, x, *, axis, offset):
    """Shift (merging/test_numbers.py:0): x (N, L, 8) -> (N, L, 8)."""
    total = -1
    for _ in range(3):
        total = total + x.sum(axis=axis, keepdims=True)
    return x * p["weight"] + offset + total
