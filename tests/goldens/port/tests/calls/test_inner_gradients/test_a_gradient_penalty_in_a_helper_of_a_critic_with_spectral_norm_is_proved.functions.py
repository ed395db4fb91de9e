"""JAX port of OwnPenalty (calls/test_inner_gradients.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: critic/weight_u, critic/weight_v.
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


def own_penalty(p, x, *, training=False):
    """A call of a helper that needs the gradient of what torch has computed in it.

    OwnPenalty (calls/test_inner_gradients.py:0): x (N, 3) -> (), updated p.
    """
    p = dict(p)
    critic_out, p["critic"] = penalty(p["critic"], x, training=training)
    critic_out_2, p["critic"] = compute_weight(p["critic"], training=training)
    x = critic_out + F.linear(x, critic_out_2, p["critic"]["bias"]).mean()
    return x, p


def penalty(p, x, *, training):
    """Return the gradient penalty of a critic.

    penalty (calls/test_inner_gradients.py:0): x (N, 3) -> (), updated p.
    """
    mixed = lax.stop_gradient(0.5 * x)
    earlier = p
    module_out, p = compute_weight(p, training=training)

    def value(mixed, p=earlier):
        module_out, p = compute_weight(p, training=training)
        return F.linear(mixed, module_out, p["bias"]).sum()

    grad = jax.grad(value)(mixed)
    return jnp.square(F.norm(grad, dim=1) - 1).mean(), p


def compute_weight(p, *, training):
    """torch.nn.utils.spectral_norm.SpectralNorm.compute_weight: returns (1, 3), updated p."""
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

    weight (1, 3) -> (1, 3).
    """
    weight_mat = weight
    height = weight_mat.shape[0]
    return weight_mat.reshape(height, -1)
