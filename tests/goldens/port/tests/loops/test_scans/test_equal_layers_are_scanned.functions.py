"""JAX port of Tower (loops/test_scans.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def tower(p, x, *, rng=None, training=False):
    """Tower (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""

    # one unit after the other
    def layer(carry, unit):
        rng, x = carry
        if training:
            rng, dropped_rng = split_rng(rng)
            x = x + dropped(unit, x, rng=dropped_rng)
        else:
            x = x + unit_forward(unit, x)
        return (rng, x), None

    (rng, x), _ = lax.scan(layer, (rng, x), stacked(p["units"]))
    return x


def dropped(p, x, *, rng):
    """Dropped (loops/test_scans.py:0)."""
    return F.dropout(unit_forward(p, x), p=0.1, key=rng)


def unit_forward(p, x):
    """Unit (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    return jnp.tanh(F.linear(x, **p["fc"]))


def stacked(layers):
    """Return the params of equal layers with a leading axis; stacked ones stay as they are."""
    return jax.tree.map(lambda *xs: jnp.stack(xs), *layers) if isinstance(layers, list) else layers


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)

# ---- the next port of this test ----
"""JAX port of Tower (loops/test_scans.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def tower(p, x):
    """Tower (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    # one unit after the other
    for unit in p["units"]:
        x = x + unit_forward(unit, x)
    return x


def unit_forward(p, x):
    """Unit (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    return jnp.tanh(F.linear(x, **p["fc"]))
