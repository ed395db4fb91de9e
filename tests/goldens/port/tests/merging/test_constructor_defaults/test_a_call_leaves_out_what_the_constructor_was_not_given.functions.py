"""JAX port of Net (merging/test_constructor_defaults.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (merging/test_constructor_defaults.py:0): x (N, 3) -> (N, 3)."""
    return unit(p["second"], unit(p["first"], x, gain=1.5), gain=2.5, power=3)


def unit(p, x, *, gain, power=2):
    """Unit (merging/test_constructor_defaults.py:0): x (N, 3) -> (N, 3)."""
    return gain * F.linear(x, **p["fc"]) ** power

# ---- the next port of this test ----
"""JAX port of Net (merging/test_constructor_defaults.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (merging/test_constructor_defaults.py:0): x (N, 3) -> (N, 3)."""
    return unit(p["second"], unit(p["first"], x, gain=1.5), gain=2.5, power=3)


def unit(p, x, *, gain, power=2):
    """Unit (merging/test_constructor_defaults.py:0): x (N, 3) -> (N, 3)."""
    return gain * F.linear(x, **p["fc"]) ** power
