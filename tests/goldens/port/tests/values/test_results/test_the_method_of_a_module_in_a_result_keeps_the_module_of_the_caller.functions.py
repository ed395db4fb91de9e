"""JAX port of Solver (values/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def solver(p, x):
    """Solver.solve (values/test_results.py:0): x (N, 3) -> (N, 3)."""
    function, x = with_scale(x)
    return x + scaled(p, function["scale"], x)


def with_scale(x):
    """with_scale (values/test_results.py:0): x (N, 3) -> function {scale ()}, x (N, 3)."""
    scale = x.mean()
    return {"function": None, "scale": scale}, x


def scaled(function, scale, x):
    """A module that is made in the forward pass of a method, as a solver wraps its function.

    Scaled (values/test_results.py:0): scale (), x (N, 3) -> (N, 3).
    """
    return rate(function, x) * scale


def rate(p, x):
    """Solver.rate (values/test_results.py:0): x (N, 3) -> (N, 3)."""
    return jnp.tanh(F.linear(x, **p["fc"]))

# ---- the next port of this test ----
"""JAX port of Nested (values/test_results.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def nested(p, x):
    """Nested.solve (values/test_results.py:0): x (N, 3) -> (N, 3)."""
    function = scaled(x)
    return x + scaled_2(p, function["scale"], x)


def scaled(x):
    """scaled (values/test_results.py:0): x (N, 3) -> {scale ()}."""
    x = x.mean()
    return {"function": None, "scale": x}


def scaled_2(function, scale, x):
    """A module that is made in the forward pass of a method, as a solver wraps its function.

    Scaled (values/test_results.py:0): scale (), x (N, 3) -> (N, 3).
    """
    return rate(function, x) * scale


def rate(p, x):
    """Nested.rate (values/test_results.py:0): x (N, 3) -> (N, 3)."""
    return jnp.tanh(F.linear(x, **p["fc"]))
