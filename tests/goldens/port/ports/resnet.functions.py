"""JAX port of ResNet (ports/resnet.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def resnet(p, x, *, training=False):
    """ResNet (ports/resnet.py:0): x (N, 3, H, W) -> (N, 4), updated p."""
    p = dict(p)
    x = F.conv2d(x, **p["conv1"], stride=2, padding=2)
    x, p["bn1"] = batch_norm2d(p["bn1"], x, training=training)
    x = F.max_pool2d(jax.nn.relu(x), 3, stride=1, padding=1)
    x, p["layer1"] = layer1(p["layer1"], x, training=training)
    x, p["layer2"] = layer2(p["layer2"], x, training=training)
    x = F.adaptive_avg_pool2d(x, 1)
    return F.linear(x.reshape(x.shape[0], -1), **p["fc"]), p


def layer1(p, x, *, training):
    """ResNet.layer1 (ports/resnet.py:0): x (N, 6, H, W) -> (N, 6, H, W), updated p."""
    modules = []
    for module in p:
        x, module = basic_block(module, x, training=training)
        modules.append(module)
    return x, modules


def layer2(p, x, *, training):
    """ResNet.layer2 (ports/resnet.py:0): x (N, 6, H, W) -> (N, 8, H', W'), updated p."""
    p = list(p)
    x, p[0] = basic_block(p[0], x, stride=2, training=training)
    return x, p


def basic_block(p, x, *, stride=1, training):
    """BasicBlock (ports/resnet.py:0): x (N, 6, H, W) -> (N, C', H', W'), updated p."""
    p = dict(p)
    if "downsample" in p:
        identity, p["downsample"] = downsample(p["downsample"], x, training=training)
    else:
        identity = x
    out = F.conv2d(x, **p["conv1"], stride=stride, padding=1)
    out, p["bn1"] = batch_norm2d(p["bn1"], out, training=training)
    out = jax.nn.relu(out)
    out = F.conv2d(out, **p["conv2"], padding=1)
    out, p["bn2"] = batch_norm2d(p["bn2"], out, training=training)
    out += identity
    return jax.nn.relu(out), p


def downsample(p, x, *, training):
    """BasicBlock.downsample (ports/resnet.py:0): x (N, 6, H, W) -> (N, 8, H', W'), updated p."""
    p = list(p)
    x = F.conv2d(x, **p[0], stride=2)
    x, p[1] = batch_norm2d(p[1], x, training=training)
    return x, p


def batch_norm2d(p, x, *, training):
    """torch.nn.BatchNorm2d: x (N, C, H, W) -> (N, C, H, W), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p
