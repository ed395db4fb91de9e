"""JAX port of Captured (expressions/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def captured(p, x):
    """The constructor makes a function that captures a submodule.

    Captured (expressions/test_submodules.py:0): x (N, 4) -> (N, 4).
    """
    return x + F.linear(F.gelu(F.linear(x, **p["mlp"]["fc"])), **p["mlp"]["out"])

# ---- the next port of this test ----
"""JAX port of Captured (expressions/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def captured(p, x):
    """The constructor makes a function that captures a submodule.

    Captured (expressions/test_submodules.py:0): x (N, 4) -> (N, 4).
    """
    return x + F.linear(F.gelu(F.linear(x, **p["mlp"]["fc"])), **p["mlp"]["out"])

# ---- the next port of this test ----
"""JAX port of Blocks (expressions/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def blocks(p, x):
    """Blocks (expressions/test_submodules.py:0): x (N, 4) -> (N, 4)."""
    for block in p["blocks"]:
        x = captured(block, x)
    return x


def captured(p, x):
    """The constructor makes a function that captures a submodule.

    Captured (expressions/test_submodules.py:0): x (N, 4) -> (N, 4).
    """
    return x + F.linear(F.gelu(F.linear(x, **p["mlp"]["fc"])), **p["mlp"]["out"])
