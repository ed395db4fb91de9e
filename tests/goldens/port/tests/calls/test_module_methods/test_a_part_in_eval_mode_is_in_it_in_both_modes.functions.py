"""JAX port of Frozen (calls/test_module_methods.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

torch also stores these values on objects; the port leaves them out:
- `training` of drop (test_module_methods.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def frozen(p, x):
    """Frozen (calls/test_module_methods.py:0): x (N, 4) -> (N, 4)."""
    return F.linear(x, **p["fc"])

# ---- the next port of this test ----
"""JAX port of Frozen (calls/test_module_methods.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

torch also stores these values on objects; the port leaves them out:
- `training` of drop (test_module_methods.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def frozen(p, x):
    """Frozen (calls/test_module_methods.py:0): x (N, 4) -> (N, 4)."""
    return F.linear(x, **p["fc"])
