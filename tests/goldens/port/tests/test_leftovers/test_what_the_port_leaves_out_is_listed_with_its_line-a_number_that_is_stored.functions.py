"""JAX port of Kind (port/test_leftovers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

torch also stores these values on objects; the port leaves them out:
- `number` of Kind (test_leftovers.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def a_number_that_is_stored(p, x):
    """Kind.a_number_that_is_stored (port/test_leftovers.py:0): x (N, 3) -> (N, 2)."""
    return F.linear(x, **p["fc"])
