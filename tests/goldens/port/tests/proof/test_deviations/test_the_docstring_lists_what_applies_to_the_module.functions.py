"""JAX port of InPlace (proof/test_deviations.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

from jax import lax


def in_place(p, x):
    """InPlace (proof/test_deviations.py:0): x (N, L) -> (N, L)."""
    y = x * 2
    y = y + 1
    return lax.stop_gradient(y) + x

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
