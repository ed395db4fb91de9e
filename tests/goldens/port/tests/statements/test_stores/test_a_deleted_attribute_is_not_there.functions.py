"""JAX port of Deleted (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def deleted(p, x):
    """Deleted (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    hidden = F.linear(x, **p["fc"]) * 2.0
    y = hidden * 2
    return y * y * 3.0

# ---- the next port of this test ----
"""JAX port of Deleted (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def deleted(p, x):
    """Deleted (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    hidden = F.linear(x, **p["fc"]) * 2.0
    y = hidden * 2
    return y * y * 3.0
