"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */weight_u, */weight_v.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x, *, training=False):
    """torch.nn.Sequential: x (N, 4) -> (N, 2), updated p."""
    p = list(p)
    module_out, p[0] = compute_weight(p[0], training=training)
    x = F.linear(x, module_out, p[0]["bias"])
    x = jnp.tanh(x)
    module_out, p[2] = compute_weight(p[2], training=training)
    return F.linear(x, module_out, p[2]["bias"]), p


def compute_weight(p, *, training):
    """torch.nn.utils.spectral_norm.SpectralNorm.compute_weight: returns (N', 4), updated p."""
    p = dict(p)
    weight = p["weight_orig"]
    u = p["weight_u"]
    if not training:
        v = p["weight_v"]
    weight_mat = reshape_weight_to_matrix(weight)
    if training:
        v = lax.stop_gradient(F.normalize(weight_mat.T @ u, dim=0))
        p["weight_v"] = v
        u = lax.stop_gradient(F.normalize(weight_mat @ v, dim=0))
        p["weight_u"] = u
    sigma = F.dot(u, weight_mat @ v)
    return weight / sigma, p


def reshape_weight_to_matrix(weight):
    """torch.nn.utils.spectral_norm.SpectralNorm.reshape_weight_to_matrix.

    weight (N, 4) -> (N, 4).
    """
    weight_mat = weight
    height = weight_mat.shape[0]
    return weight_mat.reshape(height, -1)

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */weight_u, */weight_v.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x, *, training=False):
    """torch.nn.Sequential: x (N, 4) -> (N, 2), updated p."""
    p = list(p)
    module_out, p[0] = compute_weight(p[0], training=training)
    x = F.linear(x, module_out, p[0]["bias"])
    x = jnp.tanh(x)
    module_out, p[2] = compute_weight(p[2], training=training)
    return F.linear(x, module_out, p[2]["bias"]), p


def compute_weight(p, *, training):
    """torch.nn.utils.spectral_norm.SpectralNorm.compute_weight: returns (N', 4), updated p."""
    p = dict(p)
    weight = p["weight_orig"]
    u = p["weight_u"]
    if not training:
        v = p["weight_v"]
    weight_mat = reshape_weight_to_matrix(weight)
    if training:
        v = lax.stop_gradient(F.normalize(weight_mat.T @ u, dim=0))
        p["weight_v"] = v
        u = lax.stop_gradient(F.normalize(weight_mat @ v, dim=0))
        p["weight_u"] = u
    sigma = F.dot(u, weight_mat @ v)
    return weight / sigma, p


def reshape_weight_to_matrix(weight):
    """torch.nn.utils.spectral_norm.SpectralNorm.reshape_weight_to_matrix.

    weight (N, 4) -> (N, 4).
    """
    weight_mat = weight
    height = weight_mat.shape[0]
    return weight_mat.reshape(height, -1)
