"""JAX port of Skips (expressions/test_displays.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def skips(p, x):
    """A network that collects the states of its blocks, as the UNet of diffusers does.

    Skips (expressions/test_displays.py:0): x (N, 3) -> (N, 3).
    """
    states = (x,)
    x, more = first_down(p["first"], x)
    states = states[0], *more
    x, more = down(p["second"], x)
    states = *states, more[0]
    x, more = down(p["third"], x)
    states = *states, more[0]
    return x + states[1] * states[2] + states[3] * states[4]


def first_down(p, hidden):
    """Down (expressions/test_displays.py:0).

    hidden (N, 3) -> hidden (N, 3), states [(N, 3), (N, 3)].
    """
    hidden = jnp.tanh(F.linear(hidden, **p["layers"][0]))
    states = (hidden,)
    hidden = jnp.tanh(F.linear(hidden, **p["layers"][1]))
    return hidden, (states[0], hidden)


def down(p, hidden):
    """Down (expressions/test_displays.py:0): hidden (N, 3) -> hidden (N, 3), states [(N, 3)]."""
    hidden = jnp.tanh(F.linear(hidden, **p["layers"][0]))
    return hidden, (hidden,)
