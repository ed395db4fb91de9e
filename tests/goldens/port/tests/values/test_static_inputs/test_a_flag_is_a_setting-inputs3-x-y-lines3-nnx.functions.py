"""JAX port of Decoder (values/test_static_inputs.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def decoder(p, x, y):
    """Decoder (values/test_static_inputs.py:0): x (N, 4), y (N, L) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    h = h / 2
    return h[0:]
