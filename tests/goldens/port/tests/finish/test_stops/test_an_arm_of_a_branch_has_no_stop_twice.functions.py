"""JAX port of InAnArm (finish/test_stops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: fc/weight_u, fc/weight_v.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def in_an_arm(p, x, *, training=False):
    """The power iteration of a spectral norm, in train mode alone.

    InAnArm (finish/test_stops.py:0): x (N, 4) -> (N, 4), updated p.
    """
    p = dict(p)
    fc_out, p["fc"] = compute_weight(p["fc"], training=training)
    return F.linear(x, fc_out, p["fc"]["bias"]), p


def compute_weight(p, *, training):
    """torch.nn.utils.spectral_norm.SpectralNorm.compute_weight: returns (4, 4), updated p."""
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

    weight (4, 4) -> (4, 4).
    """
    weight_mat = weight
    height = weight_mat.shape[0]
    return weight_mat.reshape(height, -1)

# ---- the next port of this test ----
"""JAX port of InAnArm (finish/test_stops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: fc/weight_u, fc/weight_v.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def in_an_arm(p, x, *, training=False):
    """The power iteration of a spectral norm, in train mode alone.

    InAnArm (finish/test_stops.py:0): x (N, 4) -> (N, 4), updated p.
    """
    p = dict(p)
    fc_out, p["fc"] = compute_weight(p["fc"], training=training)
    return F.linear(x, fc_out, p["fc"]["bias"]), p


def compute_weight(p, *, training):
    """torch.nn.utils.spectral_norm.SpectralNorm.compute_weight: returns (4, 4), updated p."""
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

    weight (4, 4) -> (4, 4).
    """
    weight_mat = weight
    height = weight_mat.shape[0]
    return weight_mat.reshape(height, -1)
