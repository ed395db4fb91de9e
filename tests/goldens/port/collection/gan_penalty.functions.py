"""JAX port of WassersteinCritic (port_collection/generative.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def wasserstein_critic(p, real, fake, alpha, *, lambda_gp=10.0):
    """The critic's loss with its gradient penalty.

    WassersteinCritic (port_collection/generative.py:0).

    real (N, 4), fake (N, 4), alpha (N, 1) -> ().
    """
    penalty = compute_gradient_penalty(p, real, fake, alpha)
    return -model(p["model"], real).mean() + model(p["model"], fake).mean() + lambda_gp * penalty


def compute_gradient_penalty(p, real_samples, fake_samples, alpha):
    """WassersteinCritic.compute_gradient_penalty (port_collection/generative.py:0).

    real_samples (N, 4), fake_samples (N, 4), alpha (N, 1) -> ().
    """
    interpolates = alpha * real_samples + (1 - alpha) * fake_samples
    interpolates = lax.stop_gradient(interpolates)
    gradients = jax.grad(lambda interpolates: model(p["model"], interpolates).sum())(interpolates)
    gradients = gradients.reshape(gradients.shape[0], -1)
    return ((F.norm(gradients, p=2, dim=1) - 1) ** 2).mean()


def model(p, x):
    """WassersteinCritic.model (port_collection/generative.py:0): x (N, 4) -> (N, 1)."""
    x = F.linear(x, **p[0])
    x = F.leaky_relu(x, negative_slope=0.2)
    return F.linear(x, **p[2])
