"""JAX port of OfSize (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- subject != 1 (test_matches.py:0)
- subject <= 3 (test_matches.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def of_size(p, x):
    """OfSize (statements/test_matches.py:0): x (3, 4) -> (3, 4)."""
    x = F.linear(x, **p["linear"])
    subject = x.shape[0] - 1
    assert subject != 1, (
        "this port holds for subject != 1: torch takes another branch otherwise "
        "(test_matches.py:0)"
    )
    assert subject <= 3, (
        "this port holds for subject <= 3: torch takes another branch otherwise "
        "(test_matches.py:0)"
    )
    other = subject
    return x + other

# ---- the next port of this test ----
"""JAX port of OfSize (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- subject <= 3 (test_matches.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def of_size(p, x):
    """OfSize (statements/test_matches.py:0): x (2, 4) -> (2, 4)."""
    x = F.linear(x, **p["linear"])
    subject = x.shape[0] - 1
    if subject == 1:
        x = jnp.tanh(x)
    else:
        assert subject <= 3, (
            "this port holds for subject <= 3: torch takes another branch otherwise "
            "(test_matches.py:0)"
        )
        other = subject
        x = x + other
    return x

# ---- the next port of this test ----
"""JAX port of OfSize (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- subject != 1 (test_matches.py:0)
- subject <= 3 (test_matches.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def of_size(p, x):
    """OfSize (statements/test_matches.py:0): x (3, 4) -> (3, 4)."""
    x = F.linear(x, **p["linear"])
    subject = x.shape[0] - 1
    assert subject != 1, (
        "this port holds for subject != 1: torch takes another branch otherwise "
        "(test_matches.py:0)"
    )
    assert subject <= 3, (
        "this port holds for subject <= 3: torch takes another branch otherwise "
        "(test_matches.py:0)"
    )
    other = subject
    return x + other

# ---- the next port of this test ----
"""JAX port of OfSize (statements/test_matches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- subject != 1 (test_matches.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def of_size(p, x):
    """OfSize (statements/test_matches.py:0): x (N, 4) -> (N, 4)."""
    x = F.linear(x, **p["linear"])
    subject = x.shape[0] - 1
    assert subject != 1, (
        "this port holds for subject != 1: torch takes another branch otherwise "
        "(test_matches.py:0)"
    )
    if subject > 3:
        n = subject
        x = x * n
    else:
        other = subject
        x = x + other
    return x
