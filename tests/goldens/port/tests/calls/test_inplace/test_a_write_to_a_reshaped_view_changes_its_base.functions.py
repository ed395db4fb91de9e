"""JAX port of FlatView (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def flat_view(p, x):
    """FlatView (calls/test_inplace.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["first"])
    h = h.reshape(-1).at[0].set(1.0).reshape(h.shape)
    h = h.swapaxes(0, 1).at[1].set(0.5).swapaxes(0, 1)
    return F.linear(h, **p["second"])

# ---- the next port of this test ----
"""JAX port of FlatView (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def flat_view(p, x):
    """FlatView (calls/test_inplace.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["first"])
    h = h.reshape(-1).at[0].set(1.0).reshape(h.shape)
    h = h.swapaxes(0, 1).at[1].set(0.5).swapaxes(0, 1)
    return F.linear(h, **p["second"])
