"""JAX port of Made (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def made(p, x):
    """A module that makes modules without parameters in its forward.

    Made (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    y = F.softplus(F.leaky_relu(F.linear(x, **p["first"]), negative_slope=0.3), beta=2)
    return jnp.tanh(y) + lax.stop_gradient(jax.nn.softmax(F.linear(x, **p["second"]), axis=-1))

# ---- the next port of this test ----
"""JAX port of Made (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def made(p, x):
    """A module that makes modules without parameters in its forward.

    Made (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    y = F.softplus(F.leaky_relu(F.linear(x, **p["first"]), negative_slope=0.3), beta=2)
    return jnp.tanh(y) + lax.stop_gradient(jax.nn.softmax(F.linear(x, **p["second"]), axis=-1))

# ---- the next port of this test ----
"""JAX port of Made (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def made(p, x):
    """A module that makes modules without parameters in its forward.

    Made (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    y = F.softplus(F.leaky_relu(F.linear(x, **p["first"]), negative_slope=0.3), beta=2)
    return jnp.tanh(y) + lax.stop_gradient(jax.nn.softmax(F.linear(x, **p["second"]), axis=-1))

# ---- the next port of this test ----
"""JAX port of Made (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def made(p, x):
    """A module that makes modules without parameters in its forward.

    Made (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    y = F.softplus(F.leaky_relu(F.linear(x, **p["first"]), negative_slope=0.3), beta=2)
    return jnp.tanh(y) + lax.stop_gradient(jax.nn.softmax(F.linear(x, **p["second"]), axis=-1))
