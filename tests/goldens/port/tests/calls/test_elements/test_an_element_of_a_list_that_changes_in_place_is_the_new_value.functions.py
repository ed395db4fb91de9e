"""JAX port of Listed (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from jaxgrad import functional

F = functional.at("2.13")


def listed(p, x):
    """Elements of a list that another function returns are changed.

    Listed (calls/test_elements.py:0): x (N, 4) -> (N, 4).
    """
    found = parts(p, x)
    found_2 = found[0] + 1
    found = found[1] * 2
    return F.linear(found_2 * found, **p["second"])


def parts(p, x):
    """Listed.parts (calls/test_elements.py:0): x (N, 4) -> (N, 4), (N, 4)."""
    h = F.linear(x, **p["first"])
    return [h * 2, h * 3]

# ---- the next port of this test ----
"""JAX port of Listed (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from jaxgrad import functional

F = functional.at("2.13")


def listed(p, x):
    """Elements of a list that another function returns are changed.

    Listed (calls/test_elements.py:0): x (N, 4) -> (N, 4).
    """
    found = parts(p, x)
    found_2 = found[0] + 1
    found = found[1] * 2
    return F.linear(found_2 * found, **p["second"])


def parts(p, x):
    """Listed.parts (calls/test_elements.py:0): x (N, 4) -> (N, 4), (N, 4)."""
    h = F.linear(x, **p["first"])
    return [h * 2, h * 3]

# ---- the next port of this test ----
"""JAX port of Taken (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def taken(p, x):
    """Taken (calls/test_elements.py:0): x (N, 4) -> (N, 4)."""
    found = parts(p, x)
    first = found[0]
    first += 1
    found_2 = first
    return F.linear(found_2 * found[1], **p["second"]) + (found_2 + found[1])


def parts(p, x):
    """Taken.parts (calls/test_elements.py:0): x (N, 4) -> (N, 4), (N, 4)."""
    h = F.linear(x, **p["first"])
    return [h * 2, h * 3]

# ---- the next port of this test ----
"""JAX port of Keyed (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def keyed(p, x):
    """Keyed (calls/test_elements.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["first"])
    h += 1
    kept = h
    return F.linear(kept, **p["second"]) * kept
