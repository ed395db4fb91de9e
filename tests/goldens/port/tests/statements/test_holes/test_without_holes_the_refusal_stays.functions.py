# PortError: test_holes.py:0 `loud = h[mask].mean()`: a mask as an index makes a size that depends on values; use torch.where; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
"""JAX port of Reads (statements/test_holes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

It is for eval mode only. The train mode of the module cannot be ported: test_holes.py:0 `loud =
  h[mask].mean()`: a mask as an index makes a size that depends on values; use torch.where
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def reads(p, x, mask):
    """Reads (statements/test_holes.py:0): x (N, 3), mask (N,) bool -> (N, 2)."""
    h = F.linear(x, **p["fc"])
    return F.linear(jnp.tanh(h), **p["out"])

# ---- the next port of this test ----
"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def linear(p, x):
    """torch.nn.Linear: x (N, 3) -> (N, 2)."""
    return F.linear(x, **p)

# ---- the next port of this test ----
"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def linear(p, x):
    """torch.nn.Linear: x (N, 3) -> (N, 2)."""
    return F.linear(x, **p)
