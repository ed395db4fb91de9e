"""JAX port of NeuralODE (port_collection/generative.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class NeuralODE(nnx.Module):
    """NeuralODE (port_collection/generative.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.steps = 4
        self.net = nnx.Sequential(Linear(4, 5, rngs=rngs), F.softplus, Linear(5, 3, rngs=rngs))

    def __call__(self, y0, *, t1=1.0):
        y = y0
        h = t1 / self.steps
        for k in range(self.steps):
            y = rk4_step(self, k * h, y, h=h)
        return y

    def dynamics(self, t, y):
        return self.net(jnp.concatenate([y, jnp.ones_like(y[..., :1]) * t], axis=-1))


def rk4_step(module, t, y, *, h):
    """rk4_step (port_collection/generative.py:0)."""
    k1 = module.dynamics(t, y)
    k2 = module.dynamics(t + h / 2, y + h / 2 * k1)
    k3 = module.dynamics(t + h / 2, y + h / 2 * k2)
    k4 = module.dynamics(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
