"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x):
    """torch.nn.Sequential: x (N, 4) -> (N, 4)."""
    p = jax.tree.map(lambda x: x, p)
    p[3]["bias"] = p[0]["bias"]  # tied
    p[3]["weight_g"] = p[0]["weight_g"]  # tied
    p[3]["weight_v"] = p[0]["weight_v"]  # tied
    weight = compute_weight(p[0])
    x = F.linear(x, weight, p[0]["bias"])
    x = jnp.tanh(x)
    weight = compute_weight_2(p[2])
    x = F.linear(x, weight, p[2]["bias"])
    weight = compute_weight(p[3])
    return F.linear(x, weight, p[3]["bias"])


def compute_weight(p):
    """torch.nn.utils.weight_norm.WeightNorm.compute_weight: returns (4, 4)."""
    g = p["weight_g"]
    v = p["weight_v"]
    return v * (g / F.norm(v, dim=(1,), keepdim=True))


def compute_weight_2(p):
    """torch.nn.utils.weight_norm.WeightNorm.compute_weight: returns (4, 4)."""
    g = p["weight_g"]
    v = p["weight_v"]
    return v * (g / F.norm(v, dim=(0, 1), keepdim=True))
