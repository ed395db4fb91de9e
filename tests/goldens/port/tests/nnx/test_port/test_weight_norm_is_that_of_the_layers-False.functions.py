"""JAX port of Normed (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def normed(p, x):
    """weight_norm of two layers, the weight of one of which is read by other code.

    Normed (nnx/test_port.py:0): x (N, 3) -> (N, 2).
    """
    inner = parametrization_list(p["a"]["parametrizations"]["weight"], constant=1)
    weight = parametrization_list(p["a"]["parametrizations"]["weight"], constant=1)
    y = parametrization_list(p["b"]["parametrizations"]["weight"], constant=0)
    return F.linear(jnp.tanh(F.linear(x, weight, p["a"]["bias"])), y) + inner.sum()


def parametrization_list(p, *, constant):
    """torch.nn.utils.parametrize.ParametrizationList: returns (N', D')."""
    originals = [p["original0"], p["original1"]]
    return weight_norm(originals[0], originals[1], constant=constant)


def weight_norm(weight_g, weight_v, *, constant):
    """torch.nn.utils.parametrizations._WeightNorm.

    weight_g (1|4, 1|4), weight_v (N, D) -> (N, D).
    """
    return weight_v * (weight_g / F.norm(weight_v, dim=(constant,), keepdim=True))
