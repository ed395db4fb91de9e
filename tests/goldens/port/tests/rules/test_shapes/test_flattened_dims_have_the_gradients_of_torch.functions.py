"""JAX port of Fixed (rules/test_shapes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def fixed(p, x):
    """Dims that torch counts from the front, with a parameter so that gradients are compared.

    Fixed (rules/test_shapes.py:0): x (N, C, H, 6) -> (3*N, 2, 12).
    """
    h = F.linear(x, **p["fc"])
    h = h.reshape(h.shape[0], -1, h.shape[3])
    h = h.reshape(h.shape[0], 3, 4, h.shape[2])
    h = h.reshape(*h.shape[:-2], -1)
    h = h.reshape(*h.shape[:-1], 2, 12)
    return h.reshape(-1, *h.shape[2:])
