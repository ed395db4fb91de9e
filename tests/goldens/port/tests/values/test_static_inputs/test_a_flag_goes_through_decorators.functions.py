"""JAX port of Decorated (values/test_static_inputs.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def decorated(p, x, shift):
    """Decorated (values/test_static_inputs.py:0): x (N, 4), shift (N, 4) -> (N, 4)."""
    return F.linear(x, **p["fc"]) + shift

# ---- the next port of this test ----
"""JAX port of Decorated (values/test_static_inputs.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def decorated(p, x, shift):
    """Decorated (values/test_static_inputs.py:0): x (N, 4), shift (N, L) -> (N, 4)."""
    return F.linear(x, **p["fc"])
