"""JAX port of ReturnsEarly (statements/test_branches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def returns_early(p, x):
    """ReturnsEarly (statements/test_branches.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    return lax.cond(F.abs(h).sum() > 50, lambda: h * 2, lambda: h * h + 1)

# ---- the next port of this test ----
"""JAX port of ReturnsEarly (statements/test_branches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def returns_early(p, x):
    """ReturnsEarly (statements/test_branches.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    return lax.cond(F.abs(h).sum() > 50, lambda: h * 2, lambda: h * h + 1)

# ---- the next port of this test ----
"""JAX port of ReturnsEarly (statements/test_branches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def returns_early(p, x):
    """ReturnsEarly (statements/test_branches.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    return lax.cond(F.abs(h).sum() > 50, lambda: h * 2, lambda: h * h + 1)
