"""JAX port of Activated (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def activated(p, x):
    """Activated (statements/test_matches.py:0): x (N, 4) -> (N, 4)."""
    return F.linear(x, **p["linear"])

# ---- the next port of this test ----
"""JAX port of Activated (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def activated(p, x):
    """Activated (statements/test_matches.py:0): x (N, 4) -> (N, 4)."""
    return F.linear(x, **p["linear"])
