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
    inner = p["a"]["parametrizations"]["weight"]["original0"]
    x = F.linear(x, a_parametrization_list(p["a"]["parametrizations"]["weight"]), p["a"]["bias"])
    weight = b_parametrization_list(p["b"]["parametrizations"]["weight"])
    return F.linear(jnp.tanh(x), weight) + inner.sum()


def a_parametrization_list(p):
    """torch.nn.utils.parametrize.ParametrizationList: returns (4, 3)."""
    originals = [p["original0"], p["original1"]]
    return a_weight_norm(originals[0], originals[1])


def a_weight_norm(weight_g, weight_v):
    """torch.nn.utils.parametrizations._WeightNorm: weight_g (4, 1), weight_v (4, 3) -> (4, 3)."""
    return weight_v * (weight_g / F.norm(weight_v, dim=(1,), keepdim=True))


def b_parametrization_list(p):
    """torch.nn.utils.parametrize.ParametrizationList: returns (2, 4)."""
    originals = [p["original0"], p["original1"]]
    return b_weight_norm(originals[0], originals[1])


def b_weight_norm(weight_g, weight_v):
    """torch.nn.utils.parametrizations._WeightNorm: weight_g (), weight_v (2, 4) -> (2, 4)."""
    return weight_v * (weight_g / F.norm(weight_v, dim=(0, 1), keepdim=True))
