"""JAX port of OfTwoSizes (merging/test_variants.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def of_two_sizes(p, x):
    """OfTwoSizes (merging/test_variants.py:0): x (N, 3) -> (N, 2)."""
    x = halves(p["first"], x, size=3, rectified=True)
    return halves(p["second"], x, size=2, rectified=False)


def halves(p, x, *, size, rectified):
    """Halves (merging/test_variants.py:0): x (N, 3) -> (N, D')."""
    h = F.linear(x, **p["fc"])
    h = h[:, :size] * h[:, size:]
    if rectified:
        return jax.nn.relu(h)
    return h

# ---- the next port of this test ----
"""JAX port of OfTwoSizes (merging/test_variants.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def of_two_sizes(p, x):
    """OfTwoSizes (merging/test_variants.py:0): x (N, 3) -> (N, 2)."""
    x = halves(p["first"], x, size=3, rectified=True)
    return halves(p["second"], x, size=2, rectified=False)


def halves(p, x, *, size, rectified):
    """Halves (merging/test_variants.py:0): x (N, 3) -> (N, D')."""
    h = F.linear(x, **p["fc"])
    h = h[:, :size] * h[:, size:]
    if rectified:
        return jax.nn.relu(h)
    return h
