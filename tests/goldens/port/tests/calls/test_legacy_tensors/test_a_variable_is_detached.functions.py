"""JAX port of Old (calls/test_legacy_tensors.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def old(p, x):
    """`Variable(x)` detaches x today.

    Old (calls/test_legacy_tensors.py:0): x (N, 3) -> (N, 3).
    """
    eye = jnp.array(jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    return F.linear(x, **p["fc"]) @ eye + lax.stop_gradient(F.linear(x, **p["fc"]))

# ---- the next port of this test ----
"""JAX port of Old (calls/test_legacy_tensors.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def old(p, x):
    """`Variable(x)` detaches x today.

    Old (calls/test_legacy_tensors.py:0): x (N, 3) -> (N, 3).
    """
    eye = jnp.array(jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    return F.linear(x, **p["fc"]) @ eye + lax.stop_gradient(F.linear(x, **p["fc"]))

# ---- the next port of this test ----
"""JAX port of Old (calls/test_legacy_tensors.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def old(p, x):
    """`Variable(x)` detaches x today.

    Old (calls/test_legacy_tensors.py:0): x (N, 3) -> (N, 3).
    """
    eye = jnp.array(jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    return F.linear(x, **p["fc"]) @ eye + lax.stop_gradient(F.linear(x, **p["fc"]))

# ---- the next port of this test ----
# PortError: test_legacy_tensors.py:0 `return Variable(x, requires_grad=True)`: this call of Variable is not ported; call detach(); or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
