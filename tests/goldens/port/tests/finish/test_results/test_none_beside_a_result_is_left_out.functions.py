"""JAX port of Two (finish/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def two(p, x):
    """Two (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    x = attention(p["first"], x)
    return attention(p["second"], x)


def attention(p, x):
    """Attention (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    return F.linear(x, **p["project"])

# ---- the next port of this test ----
"""JAX port of Two (finish/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def two(p, x):
    """Two (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    x = attention(p["first"], x)
    return attention(p["second"], x)


def attention(p, x):
    """Attention (finish/test_results.py:0): x (N, L, 4) -> (N, L, 4)."""
    return F.linear(x, **p["project"])
