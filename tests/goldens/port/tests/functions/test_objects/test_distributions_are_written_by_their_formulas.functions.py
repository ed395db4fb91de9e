"""JAX port of Policy (functions/test_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def policy(p, x):
    """Policy (functions/test_objects.py:0): x (N, 4) -> (5, N)."""
    mean = F.linear(x, **p["mean"])
    scale = jnp.exp(p["log_std"])
    loc, scale = jnp.broadcast_arrays(mean, scale)
    terms = mean - jax.nn.logsumexp(mean, axis=-1, keepdims=True)
    terms = normal_log_prob(loc, scale, lax.stop_gradient(mean) + 1).sum(axis=-1), (
        0.5 + 0.5 * math.log(2 * math.pi) + jnp.log(scale)
    ).sum(axis=-1), categorical_log_prob(terms, mean.argmax(axis=-1)), entropy(terms), kl_normal_normal(loc, scale).sum(axis=-1)
    return jnp.stack(terms)


def normal_log_prob(loc, scale, value):
    """torch.distributions.Normal.log_prob: loc (N, 2), scale (N, 2), value (N, 2) -> (N, 2)."""
    var = scale**2
    log_scale = jnp.log(scale)
    return -((value - loc) ** 2) / (2 * var) - log_scale - math.log(math.sqrt(2 * math.pi))


def categorical_log_prob(logits, value):
    """torch.distributions.Categorical.log_prob: logits (N, 2), value (N,) int -> (N,)."""
    value = jnp.expand_dims(value.astype(int), -1)
    value, log_pmf = jnp.broadcast_arrays(value, logits)
    value = value[..., :1]
    return F.gather(log_pmf, -1, value).squeeze(axis=-1)


def entropy(logits):
    """torch.distributions.Categorical.entropy: logits (N, 2) -> (N,)."""
    min_real = jnp.finfo(logits.dtype).min
    logits = F.clamp(logits, min=min_real)
    p_log_p = logits * jax.nn.softmax(logits, axis=-1)
    return -p_log_p.sum(axis=-1)


def kl_normal_normal(p_loc, p_scale):
    """_kl_normal_normal (distributions/kl.py:0): p_loc (N, 2), p_scale (N, 2) -> (N, 2)."""
    var_ratio = (p_scale / jnp.array(2.0, dtype=jnp.float32)) ** 2
    t1 = ((p_loc - jnp.array(0.0, dtype=jnp.float32)) / jnp.array(2.0, dtype=jnp.float32)) ** 2
    return 0.5 * (var_ratio + t1 - 1 - jnp.log(var_ratio))

# ---- the next port of this test ----
"""JAX port of Policy (functions/test_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def policy(p, x):
    """Policy (functions/test_objects.py:0): x (N, 4) -> (5, N)."""
    mean = F.linear(x, **p["mean"])
    scale = jnp.exp(p["log_std"])
    loc, scale = jnp.broadcast_arrays(mean, scale)
    terms = mean - jax.nn.logsumexp(mean, axis=-1, keepdims=True)
    terms = normal_log_prob(loc, scale, lax.stop_gradient(mean) + 1).sum(axis=-1), (
        0.5 + 0.5 * math.log(2 * math.pi) + jnp.log(scale)
    ).sum(axis=-1), categorical_log_prob(terms, mean.argmax(axis=-1)), entropy(terms), kl_normal_normal(loc, scale).sum(axis=-1)
    return jnp.stack(terms)


def normal_log_prob(loc, scale, value):
    """torch.distributions.Normal.log_prob: loc (N, 2), scale (N, 2), value (N, 2) -> (N, 2)."""
    var = scale**2
    log_scale = jnp.log(scale)
    return -((value - loc) ** 2) / (2 * var) - log_scale - math.log(math.sqrt(2 * math.pi))


def categorical_log_prob(logits, value):
    """torch.distributions.Categorical.log_prob: logits (N, 2), value (N,) int -> (N,)."""
    value = jnp.expand_dims(value.astype(int), -1)
    value, log_pmf = jnp.broadcast_arrays(value, logits)
    value = value[..., :1]
    return F.gather(log_pmf, -1, value).squeeze(axis=-1)


def entropy(logits):
    """torch.distributions.Categorical.entropy: logits (N, 2) -> (N,)."""
    min_real = jnp.finfo(logits.dtype).min
    logits = F.clamp(logits, min=min_real)
    p_log_p = logits * jax.nn.softmax(logits, axis=-1)
    return -p_log_p.sum(axis=-1)


def kl_normal_normal(p_loc, p_scale):
    """_kl_normal_normal (distributions/kl.py:0): p_loc (N, 2), p_scale (N, 2) -> (N, 2)."""
    var_ratio = (p_scale / jnp.array(2.0, dtype=jnp.float32)) ** 2
    t1 = ((p_loc - jnp.array(0.0, dtype=jnp.float32)) / jnp.array(2.0, dtype=jnp.float32)) ** 2
    return 0.5 * (var_ratio + t1 - 1 - jnp.log(var_ratio))
