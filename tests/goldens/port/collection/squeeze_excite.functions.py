"""JAX port of SENet (port_collection/vision.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: 1/running_mean, 1/running_var,
  1/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def se_net(p, x, *, training=False):
    """SENet (port_collection/vision.py:0): x (N, 3, 8, 8) -> (N, 5), updated p."""
    p = list(p)
    x = F.conv2d(x, **p[0], stride=2, padding=1)
    x, p[1] = batch_norm2d(p[1], x, training=training)
    x = F.hardswish(x)
    x = squeeze_excite(p[3], x)
    x = F.max_pool2d(x, 2, stride=2)
    x = x.reshape(x.shape[0], -1)
    return F.linear(x, **p[6]), p


def batch_norm2d(p, x, *, training):
    """torch.nn.BatchNorm2d: x (N, 4, 4, 4) -> (N, 4, 4, 4), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def squeeze_excite(p, x):
    """SqueezeExcite (port_collection/vision.py:0): x (N, 4, 4, 4) -> (N, 4, 4, 4)."""
    return x * fc(p["fc"], x)


def fc(p, x):
    """SqueezeExcite.fc (port_collection/vision.py:0): x (N, 4, 4, 4) -> (N, 4, 1, 1)."""
    x = F.adaptive_avg_pool2d(x, 1)
    x = F.conv2d(x, **p[1])
    x = jax.nn.relu(x)
    x = F.conv2d(x, **p[3])
    return F.hardsigmoid(x)
