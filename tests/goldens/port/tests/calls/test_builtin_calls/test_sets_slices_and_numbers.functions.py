"""JAX port of Calls (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)) (test_builtin_calls.py:0)
"""

import math

from jaxgrad import functional

F = functional.at("2.13")


def calls(p, x):
    """Calls (calls/test_builtin_calls.py:0): x (3, 4) -> (2, 4)."""
    found = []
    found.append(F.linear(x, **p["layers"][0]))
    h = found[0][0 : x.shape[0] - 1]
    assert (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)), (
        "this port holds for (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)): "
        "torch takes another branch otherwise (test_builtin_calls.py:0)"
    )
    return h * 2

# ---- the next port of this test ----
"""JAX port of Calls (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

The torch program branches on these tests; the port assumes that they hold:
- (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)) (test_builtin_calls.py:0)
"""

import math

from jaxgrad import functional

F = functional.at("2.13")


def calls(p, x):
    """Calls (calls/test_builtin_calls.py:0): x (3, 4) -> (2, 4)."""
    found = []
    found.append(F.linear(x, **p["layers"][0]))
    h = found[0][0 : x.shape[0] - 1]
    assert (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)), (
        "this port holds for (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)): "
        "torch takes another branch otherwise (test_builtin_calls.py:0)"
    )
    return h * 2
