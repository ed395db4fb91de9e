"""JAX port of WassersteinCritic (port_collection/generative.py), written by jaxgrad.port for torch
  2.13.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class WassersteinCritic(nnx.Module):
    """The critic's loss with its gradient penalty.

    WassersteinCritic (port_collection/generative.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.lambda_gp = 10.0
        self.model = nnx.Sequential(
            Linear(4, 6, rngs=rngs),
            lambda x: F.leaky_relu(x, negative_slope=0.2),
            Linear(6, 1, rngs=rngs),
        )

    def __call__(self, real, fake, alpha):
        penalty = self.compute_gradient_penalty(real, fake, alpha)
        return -self.model(real).mean() + self.model(fake).mean() + self.lambda_gp * penalty

    def compute_gradient_penalty(self, real_samples, fake_samples, alpha):
        interpolates = alpha * real_samples + (1 - alpha) * fake_samples
        interpolates = lax.stop_gradient(interpolates)

        def value(interpolates):
            d_interpolates = self.model(interpolates)
            return d_interpolates.sum()

        gradients = jax.grad(value, (0,))(interpolates)[0]
        gradients = gradients.reshape(gradients.shape[0], -1)
        return ((F.norm(gradients, p=2, dim=1) - 1) ** 2).mean()
