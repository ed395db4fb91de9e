"""JAX port of Normalized (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: fc/parametrizations/weight/0/_u,
  fc/parametrizations/weight/0/_v.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def normalized(p, x, *, training=False):
    """A weight that is divided by its spectral norm, of which train mode makes an estimate.

    Normalized (modes/test_modes.py:0): x (N, 3) -> (N, 4), updated p.
    """
    p = dict(p)
    x, p["fc"] = parametrized_linear(p["fc"], x, training=training)
    return jax.nn.relu(x), p


def parametrized_linear(p, x, *, training):
    """torch.nn.utils.parametrize.ParametrizedLinear: x (N, 3) -> (N, 4), updated p."""
    module_out, p = get_parametrized(p, training=training)
    return F.linear(x, module_out, p["bias"]), p


def get_parametrized(p, *, training):
    """torch.nn.utils.parametrize.ParametrizedLinear.get_parametrized: returns (4, 3), updated p."""
    p = jax.tree.map(lambda x: x, p)
    weight_out, p["parametrizations"]["weight"] = parametrization_list(
        p["parametrizations"]["weight"], training=training
    )
    return weight_out, p


def parametrization_list(p, *, training):
    """torch.nn.utils.parametrize.ParametrizationList: returns (4, 3), updated p."""
    p = dict(p)
    x, p["0"] = spectral_norm(p["0"], p["original"], training=training)
    return x, p


def spectral_norm(p, weight, *, training):
    """torch.nn.utils.parametrizations._SpectralNorm: weight (4, 3) -> (4, 3), updated p."""
    weight_mat = weight
    if training:
        p = spectral_norm_power_method(p, weight_mat)
    u = p["_u"]
    v = p["_v"]
    sigma = F.vdot(u, weight_mat @ v)
    return weight / sigma, p


def spectral_norm_power_method(p, weight_mat):
    """torch.nn.utils.parametrizations._SpectralNorm._power_method."""
    return power_method(p, weight_mat)


def power_method(p, weight_mat):
    """_power_method (utils/parametrizations.py:0)."""
    p = dict(p)
    p["_u"] = lax.stop_gradient(F.normalize(weight_mat @ p["_v"], dim=0))
    p["_v"] = lax.stop_gradient(F.normalize(weight_mat.T @ p["_u"], dim=0))
    return p
