"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x, *, rng=None, training=False):
    """torch.nn.Sequential: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    x, p["stack"] = stack(p["stack"], x, rng=rng, training=training)
    return x, p


def stack(p, x, *, rng, training):
    """torch.nn.Sequential: x (N, 3) -> (N, 3), updated p."""
    p = list(p)
    unit_rng_1, unit_rng_2 = split_rng(rng)
    if training:
        module_out, p[0] = unit(p[0], x, rate=0.1, rng=unit_rng_1)
        x = module_out
        module_out, p[1] = unit(p[1], x, rate=0.2, rng=unit_rng_2)
        x = module_out
    else:
        modules = []
        for module in p:
            module_out, module = unit_2(module, x)
            x = module_out
            modules.append(module)
        p = modules
    return x, p


def unit(p, x, *, rate, rng):
    """Unit (nnx/test_port.py:0)."""
    p = dict(p)
    # half of the residual branch
    norm_out, p["norm"] = batch_norm1d(p["norm"], F.linear(x, **p["fc"]))
    x = x + 0.5 * F.dropout(jnp.tanh(norm_out), p=rate, key=rng)
    return x, p


def batch_norm1d(p, x):
    """torch.nn.BatchNorm1d."""
    p = dict(p)
    p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=True
    )
    return x, p


def unit_2(p, x):
    """Unit (nnx/test_port.py:0): x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    # half of the residual branch
    norm_out, p["norm"] = batch_norm1d_2(p["norm"], F.linear(x, **p["fc"]))
    return x + 0.5 * jnp.tanh(norm_out), p


def batch_norm1d_2(p, x):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"]
    )
    return x, p


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
