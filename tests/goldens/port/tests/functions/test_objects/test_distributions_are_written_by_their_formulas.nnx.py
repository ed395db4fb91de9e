"""JAX port of Policy (functions/test_objects.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Policy(nnx.Module):
    """Policy (functions/test_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.log_std = nnx.Param(jnp.zeros(2, jnp.float32))
        self.mean = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        mean = self.mean(x)
        scale = jnp.exp(self.log_std[...])
        loc_2, scale_2 = jnp.broadcast_arrays(mean, scale)
        logits_2 = mean - jax.nn.logsumexp(mean, axis=-1, keepdims=True)
        terms = log_prob(loc_2, scale_2, lax.stop_gradient(mean) + 1).sum(axis=-1), (
            0.5 + 0.5 * math.log(2 * math.pi) + jnp.log(scale_2)
        ).sum(axis=-1), categorical_log_prob(logits_2, mean.argmax(axis=-1)), entropy(logits_2), kl_normal_normal(loc_2, scale_2).sum(axis=-1)
        return jnp.stack(terms)


def kl_normal_normal(p_loc, p_scale):
    """_kl_normal_normal (distributions/kl.py:0)."""
    var_ratio = (p_scale / jnp.array(2.0, dtype=jnp.float32)) ** 2
    t1 = ((p_loc - jnp.array(0.0, dtype=jnp.float32)) / jnp.array(2.0, dtype=jnp.float32)) ** 2
    return 0.5 * (var_ratio + t1 - 1 - jnp.log(var_ratio))


def entropy(logits):
    """torch.distributions.Categorical.entropy."""
    min_real = jnp.finfo(logits.dtype).min
    logits = F.clamp(logits, min=min_real)
    p_log_p = logits * jax.nn.softmax(logits, axis=-1)
    return -p_log_p.sum(axis=-1)


def categorical_log_prob(logits, value):
    """torch.distributions.Categorical.log_prob."""
    value = jnp.expand_dims(value.astype(int), -1)
    value, log_pmf = jnp.broadcast_arrays(value, logits)
    value = value[..., :1]
    return F.gather(log_pmf, -1, value).squeeze(axis=-1)


def log_prob(loc, scale, value):
    """torch.distributions.Normal.log_prob."""
    var = scale**2
    log_scale = jnp.log(scale)
    return -((value - loc) ** 2) / (2 * var) - log_scale - math.log(math.sqrt(2 * math.pi))

# ---- the next port of this test ----
"""JAX port of Policy (functions/test_objects.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Policy(nnx.Module):
    """Policy (functions/test_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.log_std = nnx.Param(jnp.zeros(2, jnp.float32))
        self.mean = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        mean = self.mean(x)
        scale = jnp.exp(self.log_std[...])
        loc_2, scale_2 = jnp.broadcast_arrays(mean, scale)
        logits_2 = mean - jax.nn.logsumexp(mean, axis=-1, keepdims=True)
        terms = log_prob(loc_2, scale_2, lax.stop_gradient(mean) + 1).sum(axis=-1), (
            0.5 + 0.5 * math.log(2 * math.pi) + jnp.log(scale_2)
        ).sum(axis=-1), categorical_log_prob(logits_2, mean.argmax(axis=-1)), entropy(logits_2), kl_normal_normal(loc_2, scale_2).sum(axis=-1)
        return jnp.stack(terms)


def kl_normal_normal(p_loc, p_scale):
    """_kl_normal_normal (distributions/kl.py:0)."""
    var_ratio = (p_scale / jnp.array(2.0, dtype=jnp.float32)) ** 2
    t1 = ((p_loc - jnp.array(0.0, dtype=jnp.float32)) / jnp.array(2.0, dtype=jnp.float32)) ** 2
    return 0.5 * (var_ratio + t1 - 1 - jnp.log(var_ratio))


def entropy(logits):
    """torch.distributions.Categorical.entropy."""
    min_real = jnp.finfo(logits.dtype).min
    logits = F.clamp(logits, min=min_real)
    p_log_p = logits * jax.nn.softmax(logits, axis=-1)
    return -p_log_p.sum(axis=-1)


def categorical_log_prob(logits, value):
    """torch.distributions.Categorical.log_prob."""
    value = jnp.expand_dims(value.astype(int), -1)
    value, log_pmf = jnp.broadcast_arrays(value, logits)
    value = value[..., :1]
    return F.gather(log_pmf, -1, value).squeeze(axis=-1)


def log_prob(loc, scale, value):
    """torch.distributions.Normal.log_prob."""
    var = scale**2
    log_scale = jnp.log(scale)
    return -((value - loc) ** 2) / (2 * var) - log_scale - math.log(math.sqrt(2 * math.pi))
