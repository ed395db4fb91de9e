"""JAX port of CNN (ports/cnn_bn.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")

LEVELS = 2
RANGE = 2.0


def cnn(p, x, *, training=False):
    """CNN (ports/cnn_bn.py:0): x (N, 3, 10, 10) -> (N, 5), updated p."""
    p = dict(p)
    x, p["bn1"] = batch_norm2d(p["bn1"], F.conv2d(x, **p["conv1"], padding=1), training=training)
    x = jnp.tanh(F.max_pool2d(fake_quant(x), 2, stride=2))
    x = F.conv2d(x, **p["conv2"], stride=2, padding=1)
    x, p["bn2"] = batch_norm2d(p["bn2"], x, training=training)
    x = F.elu(x)
    return F.linear(x.reshape(x.shape[0], -1), **p["fc"]), p


def batch_norm2d(p, x, *, training):
    """torch.nn.BatchNorm2d: x (N, C, L, D) -> (N, C, L, D), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def fake_quant(x):
    """Round in the forward pass only, as in quantisation-aware training.

    FakeQuant (ports/cnn_bn.py:0): x (N, 4, 10, 10) -> (N, 4, 10, 10).
    """
    x = F.clamp(x, min=-RANGE, max=RANGE)
    return x + lax.stop_gradient(F.round(x * LEVELS) / LEVELS - x)
