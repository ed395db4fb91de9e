"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    return sets(F.linear(x, **p["layer"]))


def sets(h):
    """_sets (statements/test_stores.py:0): h (N, 4) -> (N, 4)."""
    return h * 3 * 2

# ---- the next port of this test ----
"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    return sets(F.linear(x, **p["layer"]))


def sets(h):
    """_sets (statements/test_stores.py:0): h (N, 4) -> (N, 4)."""
    return h * 3 * 2
