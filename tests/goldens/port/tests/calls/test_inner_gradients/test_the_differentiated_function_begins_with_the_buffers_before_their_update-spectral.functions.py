"""JAX port of Penalized (calls/test_inner_gradients.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: network/1/weight_u, network/1/weight_v.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def penalized(p, x, *, training=False):
    """The gradient of a network that is called for its output too, and changes its buffers.

    Penalized (calls/test_inner_gradients.py:0): x (N, 3) -> (N, 3), updated p.
    """
    p = dict(p)
    network_out, p["network"] = network(p["network"], x, training=training)
    y = network_out
    mixed = lax.stop_gradient(0.5 * x)
    earlier = dict(p)
    network_out_2, p["network"] = network(p["network"], mixed, training=training)

    def value(mixed, p=earlier):
        p = dict(p)
        network_out_2, p["network"] = network(p["network"], mixed, training=training)
        return jnp.tanh(network_out_2).sum()

    grad = jax.grad(value)(mixed)
    return y + grad, p


def network(p, x, *, training):
    """Penalized.network (calls/test_inner_gradients.py:0): x (N, 3) -> (N, 3), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    module_out, p[1] = compute_weight(p[1], training=training)
    return F.linear(x, module_out, p[1]["bias"]), p


def compute_weight(p, *, training):
    """torch.nn.utils.spectral_norm.SpectralNorm.compute_weight: returns (3, 3), updated p."""
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

    weight (3, 3) -> (3, 3).
    """
    weight_mat = weight
    height = weight_mat.shape[0]
    return weight_mat.reshape(height, -1)
