"""JAX port of Spread (finish/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def spread(p, x):
    """Spread (finish/test_results.py:0): x (N, L, 4) -> (N, L, 2)."""
    parts = halves(F.linear(x, **p["project"]))[1:]
    return product(parts[0], parts[1])


def halves(x):
    """halves (finish/test_results.py:0): x (N, L, 4)."""
    x = x * 2
    return None, x[..., :2], x[..., 2:]


def product(a, b):
    """product (finish/test_results.py:0): a (N, L, 2), b (N, L, 2) -> (N, L, 2)."""
    c = a * b
    return c + a

# ---- the next port of this test ----
"""JAX port of Spread (finish/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def spread(p, x):
    """Spread (finish/test_results.py:0): x (N, L, 4) -> (N, L, 2)."""
    parts = halves(F.linear(x, **p["project"]))[1:]
    return product(parts[0], parts[1])


def halves(x):
    """halves (finish/test_results.py:0): x (N, L, 4)."""
    x = x * 2
    return None, x[..., :2], x[..., 2:]


def product(a, b):
    """product (finish/test_results.py:0): a (N, L, 2), b (N, L, 2) -> (N, L, 2)."""
    c = a * b
    return c + a
