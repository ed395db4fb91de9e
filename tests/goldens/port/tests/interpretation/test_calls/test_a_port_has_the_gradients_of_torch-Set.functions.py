"""JAX port of Set (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def set_forward(p, x):
    """A module that sets numbers of its own, and tensors of an object by name.

    Set (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    hidden = F.linear(x, **p["first"])
    hidden_1 = F.linear(x, **p["second"])
    return total(hidden, hidden_1)


def total(one, other):
    """Set.total (interpretation/test_calls.py:0): one (N, 4), other (N, 4) -> (N, 4)."""
    return one * 2 + other * 3

# ---- the next port of this test ----
"""JAX port of Set (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def set_forward(p, x):
    """A module that sets numbers of its own, and tensors of an object by name.

    Set (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    hidden = F.linear(x, **p["first"])
    hidden_1 = F.linear(x, **p["second"])
    return total(hidden, hidden_1)


def total(one, other):
    """Set.total (interpretation/test_calls.py:0): one (N, 4), other (N, 4) -> (N, 4)."""
    return one * 2 + other * 3

# ---- the next port of this test ----
"""JAX port of Set (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def set_forward(p, x):
    """A module that sets numbers of its own, and tensors of an object by name.

    Set (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    hidden = F.linear(x, **p["first"])
    hidden_1 = F.linear(x, **p["second"])
    return total(hidden, hidden_1)


def total(one, other):
    """Set.total (interpretation/test_calls.py:0): one (N, 4), other (N, 4) -> (N, 4)."""
    return one * 2 + other * 3

# ---- the next port of this test ----
"""JAX port of Set (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def set_forward(p, x):
    """A module that sets numbers of its own, and tensors of an object by name.

    Set (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    hidden = F.linear(x, **p["first"])
    hidden_1 = F.linear(x, **p["second"])
    return total(hidden, hidden_1)


def total(one, other):
    """Set.total (interpretation/test_calls.py:0): one (N, 4), other (N, 4) -> (N, 4)."""
    return one * 2 + other * 3
