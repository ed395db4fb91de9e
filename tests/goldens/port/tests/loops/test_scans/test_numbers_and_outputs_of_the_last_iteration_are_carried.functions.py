"""JAX port of WithTotal (loops/test_scans.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def with_total(p, x):
    """WithTotal (loops/test_scans.py:0): x (N, 4) -> ()."""
    total = 0

    def layer(carry, unit):
        total, x = carry
        x = unit_forward(unit, x)
        return (total + (x**2).mean(), x), None

    (total, x), _ = lax.scan(layer, (total, x), stacked(p["units"]))
    return total


def unit_forward(p, x):
    """Unit (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    return jnp.tanh(F.linear(x, **p["fc"]))


def stacked(layers):
    """Return the params of equal layers with a leading axis; stacked ones stay as they are."""
    return jax.tree.map(lambda *xs: jnp.stack(xs), *layers) if isinstance(layers, list) else layers
