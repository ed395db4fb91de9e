"""JAX port of ValueAndGradient (calls/test_func_gradients.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def value_and_gradient(p, x):
    """ValueAndGradient (calls/test_func_gradients.py:0): x (N, 4) -> (N, 4)."""
    grads, energy = jax.value_and_grad(
        lambda scale, v: (jnp.tanh(F.linear(v, **p["first"])) * scale).sum(), argnums=1
    )(x.mean(), x)[::-1]
    slope = jax.value_and_grad(lambda x: energy_forward(p, x))(x)[1]
    return F.linear(2 * grads - energy + slope, **p["second"])


def energy_forward(p, v):
    """ValueAndGradient.energy (calls/test_func_gradients.py:0): v (N, 4) -> ()."""
    return jnp.tanh(F.linear(v, **p["first"])).sum()

# ---- the next port of this test ----
"""JAX port of ValueAndGradient (calls/test_func_gradients.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def value_and_gradient(p, x):
    """ValueAndGradient (calls/test_func_gradients.py:0): x (N, 4) -> (N, 4)."""
    grads, energy = jax.value_and_grad(
        lambda scale, v: (jnp.tanh(F.linear(v, **p["first"])) * scale).sum(), argnums=1
    )(x.mean(), x)[::-1]
    slope = jax.value_and_grad(lambda x: energy_forward(p, x))(x)[1]
    return F.linear(2 * grads - energy + slope, **p["second"])


def energy_forward(p, v):
    """ValueAndGradient.energy (calls/test_func_gradients.py:0): v (N, 4) -> ()."""
    return jnp.tanh(F.linear(v, **p["first"])).sum()

# ---- the next port of this test ----
"""JAX port of ValueAndGradient (calls/test_func_gradients.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def value_and_gradient(p, x):
    """ValueAndGradient (calls/test_func_gradients.py:0): x (N, 4) -> (N, 4)."""
    grads, energy = jax.value_and_grad(
        lambda scale, v: (jnp.tanh(F.linear(v, **p["first"])) * scale).sum(), argnums=1
    )(x.mean(), x)[::-1]
    slope = jax.value_and_grad(lambda x: energy_forward(p, x))(x)[1]
    return F.linear(2 * grads - energy + slope, **p["second"])


def energy_forward(p, v):
    """ValueAndGradient.energy (calls/test_func_gradients.py:0): v (N, 4) -> ()."""
    return jnp.tanh(F.linear(v, **p["first"])).sum()
