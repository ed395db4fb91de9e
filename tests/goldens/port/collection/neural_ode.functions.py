"""JAX port of NeuralODE (port_collection/generative.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def neural_ode(p, y0, *, t1=1.0, steps=4):
    """NeuralODE (port_collection/generative.py:0): y0 (N, 3) -> (N, 3)."""
    y = y0
    h = t1 / steps
    for k in range(steps):
        y = rk4_step(p, k * h, y, h=h)
    return y


def rk4_step(p, t, y, *, h):
    """rk4_step (port_collection/generative.py:0): y (N, 3) -> (N, 3)."""
    k1 = dynamics(p, t, y)
    k2 = dynamics(p, t + h / 2, y + h / 2 * k1)
    k3 = dynamics(p, t + h / 2, y + h / 2 * k2)
    k4 = dynamics(p, t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def dynamics(p, t, y):
    """NeuralODE.dynamics (port_collection/generative.py:0): y (N, 3) -> (N, 3)."""
    return net(p["net"], jnp.concatenate([y, jnp.ones_like(y[..., :1]) * t], axis=-1))


def net(p, x):
    """NeuralODE.net (port_collection/generative.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = F.softplus(x)
    return F.linear(x, **p[2])
