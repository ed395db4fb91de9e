"""JAX port of ModuleHook (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def module_hook(p, x):
    """ModuleHook (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    # a full backward hook of `outer`
    outer = jaxgrad.backward_hook(
        lambda x: F.linear(x, **p["outer"]), lambda grad_inputs, grad_outputs: halve(grad_inputs)
    )
    return outer(jnp.tanh(F.linear(x, **p["inner"])))


def halve(grad_input):
    """halve (port_collection/behaviours.py:0): grad_input [(N, 4)] -> (N, 4)."""
    return (grad_input[0] * 0.5,)
