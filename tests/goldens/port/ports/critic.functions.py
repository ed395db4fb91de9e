"""JAX port of Penalised (ports/critic.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def penalised(p, real, noise, alpha, present):
    """Compute the scores of real and fake images, and the critic's gradient at points between.

    Penalised (ports/critic.py:0).

    real (N, 2, 8, 8), noise (N, 4), alpha (N, 1, 1, 1), present (N,) -> (N,), (N,),
    slope (N, 2, 8, 8).
    """
    fake = lax.stop_gradient(jnp.tanh(F.linear(noise, **p["generator"][0])).reshape(real.shape))
    mixed = alpha * real + (1 - alpha) * fake
    slope = jax.grad(lambda mixed: critic(p["critic"], mixed, present).sum())(mixed)
    return critic(p["critic"], real, present), critic(p["critic"], fake, present), slope


def critic(p, images, present):
    """Score images with two strided convolutions.

    Critic (ports/critic.py:0): images (N, 2, 8, 8), present (N,) -> (N,).
    """
    x = images * present[:, None, None, None]
    x = F.leaky_relu(F.conv2d(x, **p["conv1"], stride=2, padding=1), negative_slope=0.2)
    x = F.conv2d(x, **p["conv2"], stride=2, padding=1)
    x = F.leaky_relu(F.instance_norm(x, **p["norm"]), negative_slope=0.2)
    return F.linear(x.reshape(x.shape[0], -1), **p["score"]).squeeze(axis=1)
