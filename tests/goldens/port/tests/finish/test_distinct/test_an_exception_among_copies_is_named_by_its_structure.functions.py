"""JAX port of Stack (finish/test_distinct.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stack(p, x):
    """Stack (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    x = short_unit(p["layers"][0], x)
    x = unit(p["layers"][1], x)
    return unit(p["layers"][2], x)


def short_unit(p, x):
    """Unit (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    h = F.linear(x, **p["body"][0])
    return jnp.tanh(h)


def unit(p, x):
    """Unit (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    h = body(p["body"], x)
    h = jnp.tanh(h)
    h = jax.nn.sigmoid(h)
    return jax.nn.relu(h)


def body(p, x):
    """Unit.body (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    for module in p:
        x = F.linear(x, **module)
    return x

# ---- the next port of this test ----
"""JAX port of Stack (finish/test_distinct.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stack(p, x):
    """Stack (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    x = short_unit(p["layers"][0], x)
    x = unit(p["layers"][1], x)
    return unit(p["layers"][2], x)


def short_unit(p, x):
    """Unit (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    h = F.linear(x, **p["body"][0])
    return jnp.tanh(h)


def unit(p, x):
    """Unit (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    h = body(p["body"], x)
    h = jnp.tanh(h)
    h = jax.nn.sigmoid(h)
    return jax.nn.relu(h)


def body(p, x):
    """Unit.body (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    for module in p:
        x = F.linear(x, **module)
    return x

# ---- the next port of this test ----
"""JAX port of Stack (finish/test_distinct.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stack(p, x):
    """Stack (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    x = long_unit(p["layers"][0], x)
    x = unit(p["layers"][1], x)
    return unit(p["layers"][2], x)


def long_unit(p, x):
    """Unit (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    h = body(p["body"], x)
    h = jnp.tanh(h)
    h = jax.nn.sigmoid(h)
    return jax.nn.relu(h)


def body(p, x):
    """Unit.body (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    for module in p:
        x = F.linear(x, **module)
    return x


def unit(p, x):
    """Unit (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    h = F.linear(x, **p["body"][0])
    return jnp.tanh(h)

# ---- the next port of this test ----
"""JAX port of Stack (finish/test_distinct.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stack(p, x):
    """Stack (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    x = unit_without_shortcut(p["layers"][0], x)
    x = unit(p["layers"][1], x)
    return unit(p["layers"][2], x)


def unit_without_shortcut(p, x):
    """Unit (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    h = F.linear(x, **p["body"][0])
    return jnp.tanh(h)


def unit(p, x):
    """Unit (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    h = body(p["body"], x)
    h = jnp.tanh(h)
    h = jax.nn.sigmoid(h)
    return jax.nn.relu(h)


def body(p, x):
    """Unit.body (finish/test_distinct.py:0): x (N, 3) -> (N, 3)."""
    for module in p:
        x = F.linear(x, **module)
    return x
