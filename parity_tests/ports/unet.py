"""A U-Net with transposed convolutions and bilinear upsampling, and its port to equinox."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop


IMAGE, CHANNELS, WIDTH, GROUPS, BATCH, CLASSES, REFINED = 8, 2, 6, 2, 2, 3, 2


class DoubleConv(nn.Module):
    def __init__(self, inner: int, outer: int):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(inner, outer, 3, padding=1, bias=False),
            nn.GroupNorm(GROUPS, outer),
            nn.SiLU(),
            nn.Conv2d(outer, outer, 3, padding=1),
            nn.GroupNorm(GROUPS, outer),
            nn.SiLU(),
        )

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, inner: int, outer: int):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.conv = DoubleConv(inner, outer)

    def forward(self, x):
        return self.conv(self.pool(x))


class Up(nn.Module):
    def __init__(self, inner: int, outer: int, bilinear: bool):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(inner + outer, outer)
        else:
            self.up = nn.ConvTranspose2d(inner, outer, 4, stride=2, padding=1)
            self.conv = DoubleConv(2 * outer, outer)

    def forward(self, x, skip):
        return self.conv(torch.cat([skip, self.up(x)], dim=1))


class Refine(nn.Module):
    """A residual layer; the refinement stacks several of them."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, width)
        self.conv = nn.Conv2d(width, width, 1)

    def forward(self, x):
        return x + self.conv(functional.silu(self.norm(x)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc = DoubleConv(CHANNELS, WIDTH)
        self.down1 = Down(WIDTH, 2 * WIDTH)
        self.down2 = Down(2 * WIDTH, 2 * WIDTH)
        self.up1 = Up(2 * WIDTH, 2 * WIDTH, bilinear=False)
        self.up2 = Up(2 * WIDTH, WIDTH, bilinear=True)
        self.refine = nn.Sequential(*[Refine(WIDTH) for _ in range(REFINED)])
        self.dropout = nn.Dropout2d(0.1)
        self.outc = nn.Conv2d(WIDTH, CLASSES, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up2(self.up1(x3, x2), x1)
        return self.outc(self.dropout(self.refine(x)))


def torch_loss(logits: Any, x: Any) -> Any:
    """Return cross entropy plus the batch's dice loss; the target is the thresholded input."""
    target = (x[:, 0] > 0).long() + (x[:, 1] > 1).long()
    one_hot = functional.one_hot(target, CLASSES).permute(0, 3, 1, 2).to(x.dtype)
    probabilities = logits.softmax(dim=1)
    overlap = (probabilities * one_hot).sum()
    dice = (2 * overlap + 1e-6) / (probabilities.sum() + one_hot.sum() + 1e-6)
    return functional.cross_entropy(logits, target) + 1 - dice


def from_corners(x: Any) -> Any:
    """Upsample (channels, height, width) by a factor of two, bilinearly with aligned corners."""

    def matrix(n: int) -> Any:
        at = jnp.arange(2 * n) * ((n - 1) / (2 * n - 1))
        return jnp.maximum(0.0, 1.0 - jnp.abs(at[:, None] - jnp.arange(n)))

    return jnp.einsum("ip,jq,cpq->cij", matrix(x.shape[1]), matrix(x.shape[2]), x)


def from_centers(x: Any) -> Any:
    return jax.image.resize(x, (x.shape[0], 2 * x.shape[1], 2 * x.shape[2]), "bilinear")


def nearest(x: Any) -> Any:
    return jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)


def first_max(x: Any) -> Any:
    return eqx.nn.MaxPool2d(2, 2)(x)


def mean_pool(x: Any) -> Any:
    return eqx.nn.AvgPool2d(2, 2)(x)


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the JAX port; most values other than the default are porting mistakes."""

    scan: bool = False
    remat: bool = False
    eps: float = 1e-5
    pool: Callable[[Any], Any] = first_max
    upsample: Callable[[Any], Any] = from_corners
    interleaved: bool = False
    skip_first: bool = True
    stop_skip: Callable[[Any], Any] = identity
    stop_up: Callable[[Any], Any] = identity
    stop_statistics: Callable[[Any], Any] = identity
    over: Any = None  # axes over which the dice loss sums; None means all


class Normed(eqx.Module):
    """Group normalisation of a (channels, height, width) array."""

    scale: jax.Array
    shift: jax.Array

    def __call__(self, x: Any, c: Choices) -> Any:
        shape = x.shape
        if c.interleaved:
            grouped, axes = x.reshape(-1, GROUPS, *shape[1:]), (0, 2, 3)
        else:
            grouped, axes = x.reshape(GROUPS, -1), (1,)
        mean = grouped.mean(axes, keepdims=True)
        variance = grouped.var(axes, keepdims=True)
        mean, variance = c.stop_statistics((mean, variance))
        x = ((grouped - mean) / jnp.sqrt(variance + c.eps)).reshape(shape)
        return x * self.scale[:, None, None] + self.shift[:, None, None]


class Stage(eqx.Module):
    convs: tuple[eqx.nn.Conv2d, eqx.nn.Conv2d]
    norms: tuple[Normed, Normed]

    def __call__(self, x: Any, c: Choices) -> Any:
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = jax.nn.silu(norm(conv(x), c))
        return x


class Polish(eqx.Module):
    norm: Normed
    conv: eqx.nn.Conv2d

    def __call__(self, x: Any, c: Choices) -> Any:
        return self.conv(jax.nn.silu(self.norm(x, c))) + x


class Segmenter(eqx.Module):
    stages: dict[str, Stage]
    enlarge: eqx.nn.ConvTranspose2d
    polish: Any  # a list of layers, or one layer with stacked weights
    classify: eqx.nn.Conv2d
    choices: Choices = eqx.field(static=True)

    def __call__(self, image: Any) -> Any:
        c = self.choices

        def stage(name: str, x: Any) -> Any:
            run = jax.checkpoint(Stage.__call__, static_argnums=2) if c.remat else Stage.__call__
            return run(self.stages[name], x, c)

        def join(skip: Any, x: Any) -> Any:
            parts = [c.stop_skip(skip), c.stop_up(x)]
            return jnp.concatenate(parts if c.skip_first else parts[::-1])

        fine = stage("full", image)
        middle = stage("half", c.pool(fine))
        coarse = stage("quarter", c.pool(middle))
        x = stage("half_up", join(middle, self.enlarge(coarse)))
        x = stage("full_up", join(fine, c.upsample(x)))
        if c.scan:
            x, _ = lax.scan(lambda x, layer: (layer(x, c), None), x, self.polish)
        else:
            for layer in self.polish:
                x = layer(x, c)
        return self.classify(x)


@dataclasses.dataclass(frozen=True)
class Loss:
    """Compute cross entropy plus the dice loss over the axes `over`."""

    over: Any

    def __call__(self, logits: Any, x: Any) -> Any:
        target = jnp.where(x[:, 0] > 0, 1, 0) + jnp.where(x[:, 1] > 1, 1, 0)
        hot = jnp.moveaxis(jax.nn.one_hot(target, CLASSES, dtype=x.dtype), -1, 1)
        log_probabilities = jax.nn.log_softmax(logits, axis=1)
        probabilities = jnp.exp(log_probabilities)
        sizes = jnp.sum(probabilities, self.over) + jnp.sum(hot, self.over)
        dice = (2 * jnp.sum(probabilities * hot, self.over) + 1e-6) / (sizes + 1e-6)
        return jnp.mean(1 - dice) - jnp.mean(jnp.sum(hot * log_probabilities, 1))


def flipped(kernel: Any) -> Any:
    """Convert torch's transposed (in, out, height, width) kernel to equinox's flipped layout."""
    return jnp.swapaxes(kernel[:, :, ::-1, ::-1], 0, 1)


def not_flipped(kernel: Any) -> Any:
    return jnp.swapaxes(kernel, 0, 1)


def convert(
    state: Any,
    *,
    choices: Choices,
    transposed: Callable[[Any], Any] = flipped,
    square: Callable[[Any], Any] = identity,
) -> Segmenter:
    """Return a `Segmenter` with the weights of `UNet`."""
    w, key = arrays(state), jax.random.key(0)

    def filled(layer: Any, weight: Any, bias: Any) -> Any:
        if bias is None:
            return eqx.tree_at(lambda m: m.weight, layer, weight)
        return eqx.tree_at(lambda m: (m.weight, m.bias), layer, (weight, bias[:, None, None]))

    def conv(name: str, change: Callable[[Any], Any] = identity) -> eqx.nn.Conv2d:
        weight, bias = change(w[f"{name}.weight"]), w.get(f"{name}.bias")
        outer, inner, size, _ = weight.shape
        layer = eqx.nn.Conv2d(inner, outer, size, 1, size // 2, use_bias=bias is not None, key=key)
        return filled(layer, weight, bias)

    def norm(name: str) -> Normed:
        return Normed(w[f"{name}.weight"], w[f"{name}.bias"])

    def stage(name: str) -> Stage:
        name = f"{name}.double_conv"
        return Stage((conv(f"{name}.0"), conv(f"{name}.3")), (norm(f"{name}.1"), norm(f"{name}.4")))

    up = eqx.nn.ConvTranspose2d(2 * WIDTH, 2 * WIDTH, 4, 2, padding=1, key=key)
    names = {"full": "inc", "half": "down1.conv", "quarter": "down2.conv"}
    names |= {"half_up": "up1.conv", "full_up": "up2.conv"}
    polish = [
        Polish(norm(f"refine.{i}.norm"), conv(f"refine.{i}.conv", square)) for i in range(REFINED)
    ]
    return Segmenter(
        stages={name: stage(prefix) for name, prefix in names.items()},
        enlarge=filled(up, transposed(w["up1.up.weight"]), w["up1.up.bias"]),
        polish=jax.tree.map(lambda *x: jnp.stack(x), *polish) if choices.scan else polish,
        classify=conv("outc"),
        choices=choices,
    )


def apply(model: Segmenter, images: Any) -> Any:
    return jax.vmap(model)(images)


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    trained: bool = True,
    transposed: Callable[[Any], Any] = flipped,
    square: Callable[[Any], Any] = identity,
    **tools: Any,
) -> dict[str, Any]:
    """Return a U-Net and its port to equinox under `vmap`."""
    module = build(UNet, seed, fresh=fresh)
    choices = Choices(**tools)
    weights = functools.partial(convert, choices=choices, transposed=transposed, square=square)
    images = np.random.default_rng(seed).standard_normal((BATCH, CHANNELS, IMAGE, IMAGE))
    arguments = dict(
        module=module,
        fn=apply,
        params=weights(module.state_dict()),
        inputs=(images,),
        weights=weights,
    )
    return arguments | ({"loss": (torch_loss, Loss(choices.over))} if trained else {})


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "scan": dict(scan=True),
    "remat": dict(remat=True),
    "scan_remat": dict(scan=True, remat=True),
    "cotangent": dict(trained=False),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "group_norm_eps",
        "forward",
        "*double_conv.*",
        plant=dict(eps=1e-6),
        about="The port uses flax's default epsilon.",
        cause="eps is 1e-06, torch uses 1e-05",
    ),
    Bug(
        "groups_interleaved",
        "forward",
        "*double_conv.*",
        plant=dict(interleaved=True),
        about="The channels are grouped as (size, groups) instead of (groups, size).",
        cause="interleav|groups? .*(exchanged|order)",
    ),
    Bug(
        "align_corners",
        "forward",
        "up2.up",
        plant=dict(upsample=from_centers),
        about="`jax.image.resize` does not align corners.",
        cause="align_corners is False, torch uses True",
    ),
    Bug(
        "nearest",
        "forward",
        "up2.up",
        plant=dict(upsample=nearest),
        about="The upsampling is nearest instead of bilinear.",
        cause="mode is 'nearest', torch uses 'bilinear'",
    ),
    Bug(
        "mean_pool",
        "forward",
        "down1.pool",
        plant=dict(pool=mean_pool),
        about="The pooling is a mean instead of a maximum.",
        cause="pool is avg_pool2d, torch uses max_pool2d",
    ),
    Bug(
        "conv_transpose_not_flipped",
        "forward",
        "up1.up",
        plant=dict(transposed=not_flipped),
        about="The kernel of a transposed convolution is not flipped.",
        cause="kernel is flipped",
    ),
    Bug(
        "conv_transpose_square",
        "forward",
        "up1.up",
        plant=dict(transposed=lambda kernel: kernel[:, :, ::-1, ::-1]),
        about="The input and output channels are not swapped; the shapes still fit.",
        cause="kernel's channels are swapped",
    ),
    Bug(
        "square_1x1",
        "forward",
        "refine.*.conv",
        plant=dict(scan=True, square=not_flipped),
        about="A square 1x1 kernel is transposed inside a scan.",
        cause="kernel's channels are swapped",
    ),
    Bug(
        "join_order",
        "forward",
        ("up?", "up*.conv*"),  # the concatenation, or the layer that reads it
        plant=dict(skip_first=False),
        about="The upsampled features are concatenated before the skip connection's.",
        cause="operands of cat are in another order: 1, 0",
    ),
    Bug(
        "skip_stopped",
        "backward",
        "[diu]*",
        silent=True,
        plant=dict(stop_skip=lax.stop_gradient),
        about="The skip connections are detached.",
        cause=extra_stop("stop_skip"),
    ),
    Bug(
        "up_stopped",
        "structure",
        "[du]*",
        silent=True,
        plant=dict(stop_up=lax.stop_gradient),
        about="The upsampled features are detached.",
        cause=extra_stop("stop_up"),
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "refine.*.norm",
        silent=True,
        plant=dict(stop_statistics=lax.stop_gradient),
        about="The group norm's mean and variance are detached.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "statistics_stopped_in_scan",
        "backward",
        "refine.*.norm",
        silent=True,
        plant=dict(scan=True, remat=True, stop_statistics=lax.stop_gradient),
        about="The group norm's mean and variance are detached inside a checkpointed scan.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "dice_per_image",
        "forward",
        "loss",
        plant=dict(over=(1, 2, 3)),
        about="The dice is averaged over images instead of computed over the batch.",
        cause="over dim|per image|each image",
    ),
)
