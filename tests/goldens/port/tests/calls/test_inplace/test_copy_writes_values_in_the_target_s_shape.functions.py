"""JAX port of Copied (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def copied(p, x):
    """Copied (calls/test_inplace.py:0): x (3, 4) -> (3, 8)."""
    out = jnp.empty((3, 8))
    out = out.at[:, :4].set(F.linear(x, **p["first"]))
    out = out.at[:, 4:].set(jnp.broadcast_to(F.linear(x, **p["second"])[0], out[:, 4:].shape))
    return jnp.tanh(out)

# ---- the next port of this test ----
"""JAX port of Copied (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def copied(p, x):
    """Copied (calls/test_inplace.py:0): x (3, 4) -> (3, 8)."""
    out = jnp.empty((3, 8))
    out = out.at[:, :4].set(F.linear(x, **p["first"]))
    out = out.at[:, 4:].set(jnp.broadcast_to(F.linear(x, **p["second"])[0], out[:, 4:].shape))
    return jnp.tanh(out)

# ---- the next port of this test ----
"""JAX port of Copied (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def copied(p, x):
    """Copied (calls/test_inplace.py:0): x (3, 4) -> (3, 8)."""
    out = jnp.empty((3, 8))
    out = out.at[:, :4].set(F.linear(x, **p["first"]))
    out = out.at[:, 4:].set(jnp.broadcast_to(F.linear(x, **p["second"])[0], out[:, 4:].shape))
    return jnp.tanh(out)
