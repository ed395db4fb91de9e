"""JAX port of MobileNetV2 (ports/mobilenet.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def mobilenet_v2(p, x, *, rng=None, training=False):
    """MobileNetV2 (ports/mobilenet.py:0): x (N, 3, H, W) -> (N, 4), updated p."""
    p = dict(p)
    x, p["features"] = features(p["features"], x, training=training)
    x = classifier(p["classifier"], x.mean(axis=(2, 3)), rng=rng, training=training)
    return x, p


def features(p, x, *, training):
    """MobileNetV2.features (ports/mobilenet.py:0).

    x (N, 3, H, W) -> (N, 16, H', W'), updated p.
    """
    p = list(p)
    x, p[0] = conv_bn_relu(p[0], x, stride=2, padding=1, training=training)
    x, p[1] = short_inverted_residual(p[1], x, training=training)
    x, p[2] = inverted_residual(
        p[2], x, groups=24, use_res_connect=False, stride=2, training=training
    )
    x, p[3] = inverted_residual(p[3], x, groups=36, use_res_connect=True, training=training)
    x, p[4] = conv_bn_relu(p[4], x, training=training)
    return x, p


def short_inverted_residual(p, x, *, training):
    """InvertedResidual (ports/mobilenet.py:0): x (N, 8, H, W) -> (N, 8, H, W), updated p."""
    p = dict(p)
    conv_out, p["conv"] = short_inverted_residual_conv(p["conv"], x, training=training)
    return x + conv_out, p


def short_inverted_residual_conv(p, x, *, training):
    """InvertedResidual.conv (ports/mobilenet.py:0): x (N, 8, H, W) -> (N, 8, H, W), updated p."""
    p = list(p)
    x, p[0] = conv_bn_relu(p[0], x, groups=8, padding=1, training=training)
    x = F.conv2d(x, **p[1])
    x, p[2] = batch_norm2d(p[2], x, training=training)
    return x, p


def inverted_residual(p, x, *, groups, use_res_connect, stride=1, training):
    """InvertedResidual (ports/mobilenet.py:0): x (N, C, H, W) -> (N, 12, H', W'), updated p."""
    p = dict(p)
    conv_out, p["conv"] = inverted_residual_conv(
        p["conv"], x, groups=groups, stride=stride, training=training
    )
    if use_res_connect:
        return x + conv_out, p
    return conv_out, p


def inverted_residual_conv(p, x, *, groups, stride=1, training):
    """InvertedResidual.conv (ports/mobilenet.py:0).

    x (N, C, H, W) -> (N, 12, H', W'), updated p.
    """
    p = list(p)
    x, p[0] = conv_bn_relu(p[0], x, training=training)
    x, p[1] = conv_bn_relu(p[1], x, stride=stride, groups=groups, padding=1, training=training)
    x = F.conv2d(x, **p[2])
    x, p[3] = batch_norm2d(p[3], x, training=training)
    return x, p


def conv_bn_relu(p, x, *, stride=1, groups=1, padding=0, training):
    """ConvBNReLU (ports/mobilenet.py:0): x (N, C, H, W) -> (N, C', H', W'), updated p."""
    p = list(p)
    x = F.conv2d(x, **p[0], stride=stride, padding=padding, groups=groups)
    x, p[1] = batch_norm2d(p[1], x, training=training)
    return F.relu6(x), p


def batch_norm2d(p, x, *, training):
    """torch.nn.BatchNorm2d: x (N, C, H, W) -> (N, C, H, W), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def classifier(p, x, *, rng, training):
    """MobileNetV2.classifier (ports/mobilenet.py:0): x (N, 16) -> (N, 4)."""
    x = F.dropout(x, p=0.2, training=training, key=rng)
    return F.linear(x, **p[1])
