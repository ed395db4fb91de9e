"""Three networks as lists of stages; each stage is a torch module and an equivalent JAX function.

A behaviour is inserted between stages, at the same place in both frameworks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn

from torch_ref.mobilenet import LAST, STAGES, ConvNormActivation, InvertedResidual


CLASSES = 10
SHIFTS = True  # False uses XLA's convolution for depthwise filters, to measure its cost
Stage = Callable[..., jax.Array]  # (weights, input, dtype of the products) -> output


class Network(NamedTuple):
    """The stages of a network in torch and in JAX, and a batch."""

    name: str
    modules: Callable[[], list[nn.Module]]
    stages: list[Stage]
    x: np.ndarray
    y: np.ndarray
    mixes_samples: bool = False  # true with batch norm, which leaves per-sample gradients undefined

    def built(self) -> tuple[nn.Sequential, list[dict[str, jax.Array]]]:
        """Return the torch modules, and a copy of their weights for JAX with one tree per stage."""
        torch.manual_seed(0)
        modules = nn.Sequential(*self.modules())
        return modules, [
            {name: jnp.array(p.detach().cpu().numpy()) for name, p in module.named_parameters()}
            for module in modules
        ]


def forward(
    stages: Sequence[Stage],
    params: Sequence[Any],
    x: jax.Array,
    at: Callable[[int, jax.Array], jax.Array] = lambda _, h: h,
    low: Any = jnp.float32,
) -> jax.Array:
    """Return the logits; `at` is applied to each stage's output, and products use dtype `low`."""
    for place, (stage, p) in enumerate(zip(stages, params, strict=True)):
        x = at(place, stage(p, x, low))
    return x


def cross_entropy(logits: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, y))


def linear(p: dict[str, jax.Array], x: jax.Array, low: Any, name: str = "") -> jax.Array:
    return x.astype(low) @ p[f"{name}weight"].astype(low).T + p[f"{name}bias"].astype(low)


def layer_norm(p: dict[str, jax.Array], x: jax.Array, name: str = "") -> jax.Array:
    x = x - jnp.mean(x, -1, keepdims=True)
    scale = lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)
    return x * scale * p[f"{name}weight"] + p[f"{name}bias"]


def mlp(depth: int = 6, width: int = 256, batch: int = 128) -> Network:
    """Return a network of linear layers with ReLU between them."""

    def modules() -> list[nn.Module]:
        hidden = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(depth - 1)]
        return [*hidden, nn.Linear(width, CLASSES)]

    hidden = [lambda p, x, low: jax.nn.relu(linear(p, x, low, "0."))] * (depth - 1)
    return Network("MLP", modules, [*hidden, linear], *_batch(batch, width))


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) / (d / self.heads) ** 0.5).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, s, d))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Head(nn.Module):
    """A linear classifier applied to the mean over positions."""

    def __init__(self, width: int):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(self.norm(x).mean(1))


def transformer(
    depth: int = 3, width: int = 128, batch: int = 8, sequence: int = 64, heads: int = 4
) -> Network:
    """Return a transformer: an embedding, blocks and a classifier."""

    def block(p: dict[str, jax.Array], x: jax.Array, low: Any) -> jax.Array:
        qkv = linear(p, layer_norm(p, x, "norm1."), low, "qkv.")
        q, k, v = jnp.moveaxis(qkv.reshape(*x.shape[:2], 3, heads, -1), (2, 3), (0, 2))
        weights = jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / (width / heads) ** 0.5)
        x = x + linear(p, jnp.swapaxes(weights @ v, 1, 2).reshape(x.shape), low, "out.")
        up = jax.nn.gelu(linear(p, layer_norm(p, x, "norm2."), low, "up."))
        return x + linear(p, up, low, "down.")

    def head(p: dict[str, jax.Array], x: jax.Array, low: Any) -> jax.Array:
        return linear(p, jnp.mean(layer_norm(p, x, "norm."), 1), low, "linear.")

    def modules() -> list[nn.Module]:
        return [*(Block(width, heads) for _ in range(depth)), Head(width)]

    return Network(
        "transformer", modules, [block] * depth + [head], *_batch(batch, sequence, width)
    )


def mobilenet(batch: int = 8, size: int = 64) -> Network:
    """Return MobileNetV2 in train mode; neither framework keeps running statistics.

    In JAX the channels are last, as in flax, because XLA's CPU convolution is faster with them.
    """
    shapes = [(2, 1, True)]  # per stage: stride, expansion, whether input and output match
    channels = 32
    for out, blocks, stride in STAGES:
        for block in range(blocks):
            step = stride if block == 0 else 1
            shapes.append((step, 6 if len(shapes) > 1 else 1, step == 1 and channels == out))
            channels = out

    def conv_norm(
        p: dict[str, jax.Array],
        x: jax.Array,
        low: Any,
        conv: str,
        norm: str,
        stride: int = 1,
    ) -> jax.Array:
        y = conv2d(x.astype(low), p[f"{conv}.weight"].astype(low), stride).astype(jnp.float32)
        mean = jnp.mean(y, (0, 1, 2))
        scale = lax.rsqrt(jnp.var(y, (0, 1, 2)) + 1e-5)
        return ((y - mean) * scale * p[f"{norm}.weight"] + p[f"{norm}.bias"]).astype(low)

    def activated(p: Any, x: jax.Array, low: Any, name: str, stride: int = 1) -> jax.Array:
        return jnp.clip(conv_norm(p, x, low, f"{name}0", f"{name}1", stride), 0, 6)

    def inverted(stride: int, expansion: int, residual: bool) -> Stage:
        def stage(p: dict[str, jax.Array], x: jax.Array, low: Any) -> jax.Array:
            y = activated(p, x, low, "conv.0.") if expansion != 1 else x
            last = 2 if expansion != 1 else 1
            y = activated(p, y, low, f"conv.{last - 1}.", stride)
            y = conv_norm(p, y, low, f"conv.{last}", f"conv.{last + 1}")
            return x + y if residual else y

        return stage

    def modules() -> list[nn.Module]:
        layers: list[nn.Module] = [ConvNormActivation(3, 32, stride=2)]
        n_in = 32
        for out, blocks, stride in STAGES:
            for block in range(blocks):
                expansion = 6 if len(layers) > 1 else 1
                layers.append(InvertedResidual(n_in, out, stride if block == 0 else 1, expansion))
                n_in = out
        top = [ConvNormActivation(n_in, LAST, kernel=1), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        net = nn.Sequential(*layers, nn.Sequential(*top, nn.Linear(LAST, CLASSES)))
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.track_running_stats = False
        return list(net)

    def stem(p: dict[str, jax.Array], x: jax.Array, low: Any) -> jax.Array:
        return activated(p, jnp.moveaxis(x, 1, -1), low, "", 2)

    def head(p: dict[str, jax.Array], x: jax.Array, low: Any) -> jax.Array:
        return linear(p, jnp.mean(activated(p, x, low, "0."), (1, 2)), low, "3.")

    stages = [stem, *(inverted(*shape) for shape in shapes[1:]), head]
    return Network("MobileNetV2", modules, stages, *_batch(batch, 3, size, size), True)


def conv2d(x: jax.Array, weight: jax.Array, stride: int) -> jax.Array:
    """Convolve with a matrix product (1x1), a sum of shifts (depthwise), or XLA's convolution.

    For depthwise filters, XLA's CPU convolution is three times slower than a sum of shifts.
    """
    size, depthwise = weight.shape[-1], weight.shape[1] == 1
    if size == stride == 1:
        return x @ weight[:, :, 0, 0].T
    pad = (size // 2, size // 2)
    if not (depthwise and SHIFTS):
        return lax.conv_general_dilated(
            x,
            weight,
            (stride, stride),
            (pad, pad),
            dimension_numbers=("NHWC", "OIHW", "NHWC"),
            feature_group_count=x.shape[-1] // weight.shape[1],
        )
    x = jnp.pad(x, ((0, 0), pad, pad, (0, 0)))
    heights, widths = (
        [slice(first, n - size + first + 1, stride) for first in range(size)] for n in x.shape[1:3]
    )
    places = itertools.product(enumerate(heights), enumerate(widths))
    return sum(
        (x[:, rows, cols] * weight[:, 0, i, j] for (i, rows), (j, cols) in places),
        start=jnp.zeros((), x.dtype),
    )


def _batch(batch: int, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((batch, *shape), np.float32), rng.integers(CLASSES, size=batch)


NETWORKS = {"MLP": mlp, "MobileNetV2": mobilenet, "transformer": transformer}
