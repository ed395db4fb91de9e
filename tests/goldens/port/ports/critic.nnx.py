"""JAX port of Penalised (ports/critic.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Conv2d, InstanceNorm2d, Linear

F = functional.at("2.13")


class Penalised(nnx.Module):
    """Compute the scores of real and fake images, and the critic's gradient at points between.

    Penalised (ports/critic.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.generator = nnx.Sequential(Linear(4, 128, dtype=jnp.float64, rngs=rngs), jnp.tanh)
        self.critic = Critic(rngs=rngs)

    def __call__(self, real, noise, alpha, present):
        fake = lax.stop_gradient(self.generator(noise).reshape(real.shape))
        mixed = alpha * real + (1 - alpha) * fake

        def value(mixed):
            scores = self.critic(mixed, present)
            return scores.sum()

        (slope,) = jax.grad(value, (0,))(mixed)
        return self.critic(real, present), self.critic(fake, present), slope


class Critic(nnx.Module):
    """Score images with two strided convolutions.

    Critic (ports/critic.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv1 = Conv2d(2, 6, 4, stride=2, padding=1, dtype=jnp.float64, rngs=rngs)
        self.conv2 = Conv2d(6, 6, 4, stride=2, padding=1, dtype=jnp.float64, rngs=rngs)
        self.norm = InstanceNorm2d(6, affine=True, dtype=jnp.float64)
        self.score = Linear(24, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, images, present):
        x = images * present[:, None, None, None]
        x = F.leaky_relu(self.conv1(x), negative_slope=0.2)
        x = F.leaky_relu(self.norm(self.conv2(x)), negative_slope=0.2)
        return self.score(x.reshape(x.shape[0], -1)).squeeze(axis=1)
