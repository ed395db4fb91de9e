"""Pairs of a torch network and its port to JAX, with which the cost of a proof is measured.

Each port is a function of the module's state_dict. One of its arguments makes
a mistake, and `through` may stop a gradient.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from benchmarks.networks import Block
from torch_ref.mobilenet import EXPANSION, STAGES, MobileNetV2


Array = Any
Params = Mapping[str, Any]
CLASSES = 1000


def same(x: Array) -> Array:
    return x


class Pair(NamedTuple):
    """A module in eval mode, its port, and inputs."""

    module: nn.Module
    port: Callable[..., Array]
    inputs: tuple[np.ndarray, ...]
    mistake: dict[str, Any]  # arguments of the port with which its outputs differ

    @property
    def params(self) -> dict[str, np.ndarray]:
        """The floating weights and buffers, keyed by torch's names."""
        state = self.module.state_dict().items()
        return {name: x.numpy() for name, x in state if x.is_floating_point()}

    def fn(self, kind: str = "") -> Callable[..., Array]:
        """Return the port: right, or with a wrong "output" or a missing "gradient"."""
        options = {"": {}, "output": self.mistake, "gradient": {"through": lax.stop_gradient}}
        return functools.partial(self.port, **options[kind])


def linear(p: Params, name: str, x: Array) -> Array:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def layer_norm(p: Params, name: str, x: Array, eps: float = 1e-5) -> Array:
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    x = (x - mean) * lax.rsqrt(variance + eps)
    return x * p[f"{name}.weight"] + p[f"{name}.bias"]


def batch_norm(p: Params, name: str, x: Array, eps: float = 1e-5) -> Array:
    mean, variance, weight, bias = (
        p[f"{name}.{key}"][:, None, None]
        for key in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) * lax.rsqrt(variance + eps) * weight + bias


def conv(p: Params, name: str, x: Array, stride: int = 1, groups: int = 1) -> Array:
    weight = p[f"{name}.weight"]
    pad = weight.shape[-1] // 2
    y = lax.conv_general_dilated(
        x, weight, (stride, stride), [(pad, pad)] * 2, feature_group_count=groups
    )
    bias = p.get(f"{name}.bias")
    return y if bias is None else y + bias[:, None, None]


def attention(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """Return the attention of arrays of the shape (batch, heads, tokens, size), heads joined."""
    scores = q @ jnp.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    scores = scores if mask is None else jnp.where(mask, scores, -jnp.inf)
    y = jnp.swapaxes(jax.nn.softmax(scores, -1) @ v, 1, 2)
    return y.reshape(*y.shape[:2], -1)


# -- a transformer of two layers


class Encoder(nn.Module):
    def __init__(self, layers: int, width: int, heads: int):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def encoder(
    p: Params, x: Array, *, layers: int, heads: int, eps: float = 1e-5, through: Any = same
) -> Array:
    for k in range(layers):
        name = f"blocks.{k}"
        y = linear(p, f"{name}.qkv", layer_norm(p, f"{name}.norm1", x, eps))
        q, k_, v = jnp.moveaxis(y.reshape(*x.shape[:2], 3, heads, -1), (2, 3), (0, 2))
        x = x + linear(p, f"{name}.out", attention(q, through(k_), v))
        up = jax.nn.gelu(linear(p, f"{name}.up", layer_norm(p, f"{name}.norm2", x, eps)))
        x = x + linear(p, f"{name}.down", up)
    return linear(p, "head", jnp.mean(layer_norm(p, "norm", x, eps), 1))


def transformer() -> Pair:
    module = Encoder(2, 64, 4)
    port = functools.partial(encoder, layers=2, heads=4)
    return Pair(module, port, (normal(2, 16, 64),), {"eps": 1e-6})


# -- ResNet18


class BasicBlock(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.downsample = None
        if stride != 1 or inner != outer:
            skip = nn.Conv2d(inner, outer, 1, stride, bias=False)
            self.downsample = nn.Sequential(skip, nn.BatchNorm2d(outer))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + identity)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        inner = 64
        for k, outer in enumerate((64, 128, 256, 512), 1):
            blocks = [BasicBlock(inner, outer, 1 + (k > 1)), BasicBlock(outer, outer, 1)]
            setattr(self, f"layer{k}", nn.Sequential(*blocks))
            inner = outer
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(512, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for k in range(1, 5):
            x = getattr(self, f"layer{k}")(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18_port(p: Params, x: Array, *, eps: float = 1e-5, through: Any = same) -> Array:
    x = jax.nn.relu(batch_norm(p, "bn1", conv(p, "conv1", x, 2), eps))
    pads = [(0, 0), (0, 0), (1, 1), (1, 1)]
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), pads)
    for k in range(1, 5):
        for i in range(2):
            name, stride = f"layer{k}.{i}", 1 + (k > 1 and i == 0)
            y = jax.nn.relu(batch_norm(p, f"{name}.bn1", conv(p, f"{name}.conv1", x, stride), eps))
            y = batch_norm(p, f"{name}.bn2", conv(p, f"{name}.conv2", y), eps)
            if f"{name}.downsample.0.weight" in p:
                x = conv(p, f"{name}.downsample.0", x, stride)
                x = through(batch_norm(p, f"{name}.downsample.1", x, eps))
            x = jax.nn.relu(y + x)
    return linear(p, "fc", jnp.mean(x, (2, 3)))


def resnet18() -> Pair:
    return Pair(ResNet18(), resnet18_port, (normal(2, 3, 32, 32),), {"eps": 1e-3})


# -- MobileNetV2


def mobilenet_port(p: Params, x: Array, *, eps: float = 1e-5, through: Any = same) -> Array:
    def normed(name: str, x: Array, stride: int = 1, groups: int = 1) -> Array:
        y = conv(p, f"{name}.0", x, stride, groups)
        return jax.nn.relu6(batch_norm(p, f"{name}.1", y, eps))

    x = normed("features.0", x, 2)
    at = 1
    for channels, blocks, first in STAGES:
        for block in range(blocks):
            name, stride = f"features.{at}.conv", first if block == 0 else 1
            wide = x.shape[1] * (EXPANSION if at > 1 else 1)
            y = normed(f"{name}.0", x) if at > 1 else x
            last = 2 if at > 1 else 1
            y = normed(f"{name}.{last - 1}", y, stride, wide)
            y = batch_norm(p, f"{name}.{last + 1}", conv(p, f"{name}.{last}", y), eps)
            x = through(x) + y if stride == 1 and x.shape[1] == channels else y
            at += 1
    x = normed(f"features.{at}", x)
    return linear(p, "classifier.1", jnp.mean(x, (2, 3)))


def mobilenet() -> Pair:
    return Pair(MobileNetV2(), mobilenet_port, (normal(2, 3, 32, 32),), {"eps": 1e-3})


# -- GPT-2


class Conv1D(nn.Module):
    """A linear layer with an (in, out) weight, as in the published checkpoints."""

    def __init__(self, inner: int, outer: int):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(inner, outer))
        self.bias = nn.Parameter(torch.zeros(outer))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight + self.bias


class Layer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.ModuleDict({"c_attn": Conv1D(width, 3 * width)})
        self.attn["c_proj"] = Conv1D(width, width)
        self.mlp = nn.ModuleDict({"c_fc": Conv1D(width, 4 * width)})
        self.mlp["c_proj"] = Conv1D(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, width = x.shape
        parts = self.attn["c_attn"](self.ln_1(x)).split(width, 2)
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in parts)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn["c_proj"](y.transpose(1, 2).reshape(b, t, width))
        hidden = functional.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
        return x + self.mlp["c_proj"](hidden)


class GPT2(nn.Module):
    """GPT-2 with 124 million weights; the head shares its weight with the embedding."""

    def __init__(self, layers: int = 12, width: int = 768, heads: int = 12, words: int = 50257):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(1024, width)
        self.h = nn.ModuleList([Layer(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for layer in self.h:
            x = layer(x)
        return self.ln_f(x) @ self.wte.weight.T


def gpt2_port(
    p: Params,
    tokens: Array,
    *,
    layers: int,
    heads: int,
    gelu: Any = jax.nn.gelu,
    through: Any = same,
) -> Array:
    def dense(name: str, x: Array) -> Array:
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    x = p["wte.weight"][tokens] + p["wpe.weight"][: tokens.shape[1]]
    mask = jnp.tril(jnp.ones((tokens.shape[1], tokens.shape[1]), bool))
    for k in range(layers):
        parts = jnp.split(dense(f"h.{k}.attn.c_attn", layer_norm(p, f"h.{k}.ln_1", x)), 3, -1)
        q, k_, v = (jnp.swapaxes(y.reshape(*x.shape[:2], heads, -1), 1, 2) for y in parts)
        x = x + dense(f"h.{k}.attn.c_proj", attention(q, through(k_), v, mask))
        hidden = gelu(dense(f"h.{k}.mlp.c_fc", layer_norm(p, f"h.{k}.ln_2", x)))
        x = x + dense(f"h.{k}.mlp.c_proj", hidden)
    return layer_norm(p, "ln_f", x) @ p["wte.weight"].T


def gpt2() -> Pair:
    tokens = np.random.default_rng(0).integers(50257, size=(2, 8))
    port = functools.partial(gpt2_port, layers=12, heads=12)
    return Pair(
        GPT2(), port, (tokens,), {"gelu": functools.partial(jax.nn.gelu, approximate=False)}
    )


# -- a U-Net


class DoubleConv(nn.Sequential):
    def __init__(self, inner: int, outer: int):
        super().__init__(
            nn.Conv2d(inner, outer, 3, padding=1), nn.GroupNorm(4, outer), nn.SiLU(),
            nn.Conv2d(outer, outer, 3, padding=1), nn.GroupNorm(4, outer), nn.SiLU(),
        )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width: int = 16, depth: int = 3):
        super().__init__()
        widths = [width * 2**k for k in range(depth + 1)]
        self.inc = DoubleConv(3, width)
        pairs = list(itertools.pairwise(widths))
        self.down = nn.ModuleList([DoubleConv(inner, outer) for inner, outer in pairs])
        self.up = nn.ModuleList([nn.ConvTranspose2d(o, i, 2, stride=2) for i, o in pairs[::-1]])
        self.merge = nn.ModuleList([DoubleConv(2 * inner, inner) for inner, _ in pairs[::-1]])
        self.outc = nn.Conv2d(width, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = [self.inc(x)]
        for down in self.down:
            skips.append(down(functional.max_pool2d(skips[-1], 2)))
        x = skips.pop()
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat([skips.pop(), up(x)], 1))
        return self.outc(x)


def unet_port(p: Params, x: Array, *, depth: int, eps: float = 1e-5, through: Any = same) -> Array:
    def double(name: str, x: Array) -> Array:
        for k in (0, 3):
            x = conv(p, f"{name}.{k}", x)
            groups = x.reshape(x.shape[0], 4, -1)
            mean, variance = jnp.mean(groups, -1), jnp.var(groups, -1)
            groups = (groups - mean[..., None]) * lax.rsqrt(variance + eps)[..., None]
            weight, bias = (p[f"{name}.{k + 1}.{key}"] for key in ("weight", "bias"))
            x = groups.reshape(x.shape) * weight[:, None, None] + bias[:, None, None]
            x = jax.nn.silu(x)
        return x

    def upsampled(name: str, x: Array) -> Array:
        y = jnp.einsum("nihw,ioab->nohawb", x, p[f"{name}.weight"])
        y = y.reshape(*y.shape[:2], 2 * x.shape[2], 2 * x.shape[3])
        return y + p[f"{name}.bias"][:, None, None]

    skips = [double("inc", x)]
    for k in range(depth):
        n, c, h, w = skips[-1].shape
        pooled = jnp.max(skips[-1].reshape(n, c, h // 2, 2, w // 2, 2), (3, 5))
        skips.append(double(f"down.{k}", pooled))
    x = skips.pop()
    for k in range(depth):
        x = jnp.concatenate([through(skips.pop()), upsampled(f"up.{k}", x)], 1)
        x = double(f"merge.{k}", x)
    return conv(p, "outc", x)


def unet() -> Pair:
    port = functools.partial(unet_port, depth=3)
    return Pair(UNet(), port, (normal(2, 3, 16, 16),), {"eps": 1e-6})


# -- an RNN


class Recurrent(nn.Module):
    def __init__(self, width: int = 32, layers: int = 2):
        super().__init__()
        self.embedding = nn.Embedding(50, width)
        self.gru = nn.GRU(width, width, layers, batch_first=True)
        self.out = nn.Linear(width, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.gru(self.embedding(tokens))[0])


def gru_port(
    p: Params, tokens: Array, *, layers: int, reset_first: bool = False, through: Any = same
) -> Array:
    def layer(k: int, x: Array) -> Array:
        w, u = p[f"gru.weight_ih_l{k}"], p[f"gru.weight_hh_l{k}"]
        b, c = p[f"gru.bias_ih_l{k}"], p[f"gru.bias_hh_l{k}"]

        def step(h: Array, x: Array) -> tuple[Array, Array]:
            rx, zx, nx = jnp.split(x @ w.T + b, 3, -1)
            rh, zh, nh = jnp.split(h @ u.T + c, 3, -1)
            r, z = through(jax.nn.sigmoid(rx + rh)), jax.nn.sigmoid(zx + zh)
            inner = (r * h) @ u[-h.shape[-1] :].T + c[-h.shape[-1] :] if reset_first else r * nh
            new = (1 - z) * jnp.tanh(nx + inner) + z * h
            return new, new

        first = jnp.zeros((x.shape[0], u.shape[1]), x.dtype)
        _, out = lax.scan(step, first, jnp.swapaxes(x, 0, 1))
        return jnp.swapaxes(out, 0, 1)

    x = p["embedding.weight"][tokens]
    for k in range(layers):
        x = layer(k, x)
    return linear(p, "out", x)


def rnn() -> Pair:
    tokens = np.random.default_rng(0).integers(50, size=(4, 12))
    port = functools.partial(gru_port, layers=2)
    return Pair(Recurrent(), port, (tokens,), {"reset_first": True})


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


PAIRS: dict[str, Callable[[], Pair]] = {
    "transformer, 2 layers": transformer,
    "ResNet18": resnet18,
    "MobileNetV2": mobilenet,
    "GPT-2, 124 million weights": gpt2,
    "U-Net": unet,
    "GRU, 2 layers": rnn,
}


def pair(name: str) -> Pair:
    """Return a pair with equal weights in every process, and batch norms that do something."""
    torch.manual_seed(0)
    made = PAIRS[name]()
    for module in made.module.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    made.module.eval()
    return made
