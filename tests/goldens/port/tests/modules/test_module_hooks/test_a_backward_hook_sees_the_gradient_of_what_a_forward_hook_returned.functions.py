"""JAX port of Hooked (modules/test_module_hooks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def hooked(p, x):
    """Hooked (modules/test_module_hooks.py:0): x (N, 4) -> (N, 4)."""
    # a full backward hook of `second`
    second = jaxgrad.backward_hook(
        lambda x: F.linear(x, **p["second"]) * 2,
        lambda grad_inputs, grad_outputs: (grad_outputs[0] * 5,),
    )
    return second(jnp.tanh(F.linear(x, **p["first"])))

# ---- the next port of this test ----
"""JAX port of Hooked (modules/test_module_hooks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def hooked(p, x):
    """Hooked (modules/test_module_hooks.py:0): x (N, 4) -> (N, 4)."""
    # a full backward hook of `second`
    second = jaxgrad.backward_hook(
        lambda x: F.linear(x, **p["second"]) * 2,
        lambda grad_inputs, grad_outputs: (grad_outputs[0] * 5,),
    )
    return second(jnp.tanh(F.linear(x, **p["first"])))
