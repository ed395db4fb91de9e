"""JAX port of Twice (finish/test_hooked.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def twice(p, x):
    """A layer that is called twice, whose hook sees the sum of both gradients.

    Twice (finish/test_hooked.py:0): x (N, 4) -> (N, 4).
    """
    first_weight = jaxgrad.hook(p["first"]["weight"], lambda grad: F.clamp(grad, min=-0.1, max=0.1))
    norm_weight = jaxgrad.hook(p["norm"]["weight"], lambda grad: 3 * grad)
    x = F.linear(x, first_weight, p["first"]["bias"])
    x = F.layer_norm(x, x.shape[-1:], norm_weight, p["norm"]["bias"])
    return F.linear(jnp.tanh(x), first_weight, p["first"]["bias"])

# ---- the next port of this test ----
"""JAX port of Twice (finish/test_hooked.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def twice(p, x):
    """A layer that is called twice, whose hook sees the sum of both gradients.

    Twice (finish/test_hooked.py:0): x (N, 4) -> (N, 4).
    """
    first_weight = jaxgrad.hook(p["first"]["weight"], lambda grad: F.clamp(grad, min=-0.1, max=0.1))
    norm_weight = jaxgrad.hook(p["norm"]["weight"], lambda grad: 3 * grad)
    x = F.linear(x, first_weight, p["first"]["bias"])
    x = F.layer_norm(x, x.shape[-1:], norm_weight, p["norm"]["bias"])
    return F.linear(jnp.tanh(x), first_weight, p["first"]["bias"])

# ---- the next port of this test ----
"""JAX port of Twice (finish/test_hooked.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def twice(p, x):
    """A layer that is called twice, whose hook sees the sum of both gradients.

    Twice (finish/test_hooked.py:0): x (N, 4) -> (N, 4).
    """
    first_weight = jaxgrad.hook(p["first"]["weight"], lambda grad: F.clamp(grad, min=-0.1, max=0.1))
    norm_weight = jaxgrad.hook(p["norm"]["weight"], lambda grad: 3 * grad)
    x = F.linear(x, first_weight, p["first"]["bias"])
    x = F.layer_norm(x, x.shape[-1:], norm_weight, p["norm"]["bias"])
    return F.linear(jnp.tanh(x), first_weight, p["first"]["bias"])
