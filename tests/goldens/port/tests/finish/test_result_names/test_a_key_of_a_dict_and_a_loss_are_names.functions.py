"""JAX port of Losses (finish/test_result_names.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def losses(p, x):
    """Losses (finish/test_result_names.py:0): x (N, 3) -> loss (), h (N, 2), penalty ()."""
    parts = parts_forward(F.linear(x, **p["code"]))
    x = F.mse_loss(F.linear(parts["h"], **p["out"]), x)
    return x + parts["penalty"], parts["h"], parts["penalty"]


def parts_forward(h):
    """Losses.parts (finish/test_result_names.py:0): h (N, 2) -> {h (N, 2), penalty ()}."""
    return {"h": jnp.tanh(h), "penalty": (h**2).mean()}
