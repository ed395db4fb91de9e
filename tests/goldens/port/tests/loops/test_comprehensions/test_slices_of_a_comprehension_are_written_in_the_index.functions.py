"""JAX port of Crop (loops/test_comprehensions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def crop(p, x):
    """Crop (loops/test_comprehensions.py:0): x (N, 4) -> (N - 2, 2)."""
    h = F.linear(x, **p["fc"])
    parts = [slice(1, h.shape[0] - 1), slice(1, h.shape[1] - 1)]
    return h[tuple(parts)] * 2
