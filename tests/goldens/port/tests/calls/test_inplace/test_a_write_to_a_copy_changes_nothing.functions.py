"""JAX port of OfACopy (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from jaxgrad import functional

F = functional.at("2.13")


def of_a_copy(p, x):
    """OfACopy (calls/test_inplace.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["first"])
    return F.linear(h, **p["second"])

# ---- the next port of this test ----
"""JAX port of OfACopy (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from jaxgrad import functional

F = functional.at("2.13")


def of_a_copy(p, x):
    """OfACopy (calls/test_inplace.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["first"])
    return F.linear(h, **p["second"])
