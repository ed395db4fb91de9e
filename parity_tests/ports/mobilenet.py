"""A small MobileNetV2 with a width multiplier, and its port to plain functions."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


IMAGE, CHANNELS, CLASSES, BATCH, STEM, LAST = 12, 3, 4, 2, 8, 16
STAGES = ((1, 8, 1, 1), (3, 12, 2, 2))  # expansion, channels, blocks, stride of the first block
RATE, ALPHA, MOMENTUM, EPS, DECAY = 1e-2, 0.9, 0.9, 1e-3, 1e-3
LABELS = np.arange(BATCH)


def make_divisible(channels: float, divisor: int = 2) -> int:
    """Round to a multiple of `divisor`, but never below 90 % of `channels`."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


class ConvBNReLU(nn.Sequential):
    def __init__(self, inner: int, outer: int, kernel: int = 3, stride: int = 1, groups: int = 1):
        super().__init__(
            nn.Conv2d(inner, outer, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outer),
            nn.ReLU6(inplace=True),
        )


class InvertedResidual(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int, expansion: int):
        super().__init__()
        wide = inner * expansion
        widen = [ConvBNReLU(inner, wide, kernel=1)] if expansion != 1 else []
        self.conv = nn.Sequential(
            *widen,
            ConvBNReLU(wide, wide, stride=stride, groups=wide),
            nn.Conv2d(wide, outer, 1, bias=False),
            nn.BatchNorm2d(outer),
        )
        self.use_res_connect = stride == 1 and inner == outer

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, width_mult: float = 1.0, frozen: bool = False):
        super().__init__()
        inner = make_divisible(STEM * width_mult)
        features: list[nn.Module] = [ConvBNReLU(CHANNELS, inner, stride=2)]
        for expansion, channels, count, stride in STAGES:
            outer = make_divisible(channels * width_mult)
            for i in range(count):
                features.append(InvertedResidual(inner, outer, stride if i == 0 else 1, expansion))
                inner = outer
        last = make_divisible(LAST * max(1.0, width_mult))
        self.features = nn.Sequential(*features, ConvBNReLU(inner, last, kernel=1))
        self.features.requires_grad_(not frozen)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(last, CLASSES))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


def prune(module: MobileNetV2) -> MobileNetV2:
    """Zero two channels of each activated norm, which puts them exactly at ReLU6's lower bound.

    The upper bound is avoided: rounding could move a 6 to either side of it.
    """
    for part in module.modules():
        if isinstance(part, ConvBNReLU):
            norm: Any = part[1]
            with torch.no_grad():
                norm.weight[:2] = 0.0
                norm.bias[:2] = 0.0
    return module


def torch_loss(logits: Any) -> Any:
    return functional.nll_loss(functional.log_softmax(logits, dim=1), torch.tensor(LABELS))


def torch_rmsprop(params: Any) -> torch.optim.Optimizer:
    """Return the RMSprop of the MobileNetV2 paper; the learning rate decays at every step."""
    optimizer = torch.optim.RMSprop(
        params, RATE, alpha=ALPHA, eps=EPS, momentum=MOMENTUM, weight_decay=DECAY
    )
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    optimizer.register_step_post_hook(lambda *_: schedule.step())
    return optimizer


def relu6(x: Any) -> Any:
    """ReLU6 with torch's gradient, which is zero at both bounds."""
    inside = (x > 0) & (x < 6)
    return jnp.where(inside, x, lax.stop_gradient(jnp.clip(x, 0, 6)))


Params = Any
PADDED = ((1, 1), (1, 1))


@dataclasses.dataclass(frozen=True)
class Port:
    """The JAX port and its options; most values other than the default are porting mistakes."""

    folded: bool = False
    remat: bool = False
    frozen: bool = False
    eps: float = 1e-5
    relu6: Callable[[Any], Any] = relu6
    bottleneck: Callable[[Any], Any] = identity
    padding: Any = PADDED
    skip: bool = True
    stop_skip: Callable[[Any], Any] = identity
    stop_branch: Callable[[Any], Any] = identity
    stop_trunk: Callable[[Any], Any] = identity
    stop_frozen: Callable[[Any], Any] = lax.stop_gradient
    mean: Callable[..., Any] = jnp.mean

    def convolve(self, p: Params, x: Any, stride: int = 1) -> Any:
        kernel = p["kernel"]  # (height, width, in, out); in a depthwise kernel, in is 1
        scale = p["gamma"] / jnp.sqrt(p["var"] + self.eps)
        if self.folded:
            kernel = kernel * scale
        strided = stride != 1 and kernel.shape[0] == 3
        padding = self.padding if strided else "SAME"
        y = lax.conv_general_dilated(
            x,
            kernel,
            (stride, stride),
            padding,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=x.shape[-1] // kernel.shape[2],
        )
        if self.folded:
            return y + (p["beta"] - p["mean"] * scale)
        return (y - p["mean"]) * scale + p["beta"]

    def block(self, block: list[Params], x: Any, stride: int) -> Any:
        *widen, depthwise, narrow = block
        y = x
        for p in widen:
            y = self.relu6(self.convolve(p, y))
        y = self.relu6(self.convolve(depthwise, y, stride))
        y = self.bottleneck(self.convolve(narrow, y))
        if self.skip and stride == 1 and x.shape == y.shape:
            return self.stop_skip(x) + self.stop_branch(y)
        return y

    def apply(self, params: Params, images: Any) -> Any:
        trunk = {name: params[name] for name in ("first", "blocks", "last")}
        if self.frozen:
            trunk = self.stop_frozen(trunk)
        strides = [stride if i == 0 else 1 for _, _, count, stride in STAGES for i in range(count)]
        run = jax.checkpoint(self.block, static_argnums=2) if self.remat else self.block
        x = self.relu6(self.convolve(trunk["first"], jnp.moveaxis(images, 1, 3), 2))
        for block, stride in zip(trunk["blocks"], strides, strict=True):
            x = run(block, x, stride)
        x = self.stop_trunk(self.relu6(self.convolve(trunk["last"], x)))
        return self.mean(x, axis=(1, 2)) @ params["w"] + params["b"]


def loss(logits: Any) -> Any:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), LABELS[:, None], axis=-1)
    return -jnp.mean(chosen)


def convert(
    state: Any,
    *,
    depthwise: Callable[[Any], Any] = identity,
    pointwise: Callable[[Any], Any] = identity,
) -> Params:
    """Return the params of `Port` with the weights of `MobileNetV2`."""
    w = arrays(state)

    def conv(name: str, norm: str) -> Params:
        kernel = jnp.transpose(w[f"{name}.weight"], (2, 3, 1, 0))
        kernel = depthwise(kernel) if kernel.shape[2] == 1 else kernel
        kernel = pointwise(kernel) if kernel.shape[2] == kernel.shape[3] else kernel
        return {
            "kernel": kernel,
            "gamma": w[f"{norm}.weight"],
            "beta": w[f"{norm}.bias"],
            "mean": w[f"{norm}.running_mean"],
            "var": w[f"{norm}.running_var"],
        }

    def block(name: str, expansion: int) -> list[Params]:
        count = 1 if expansion == 1 else 2
        activated = [conv(f"{name}.conv.{i}.0", f"{name}.conv.{i}.1") for i in range(count)]
        return [*activated, conv(f"{name}.conv.{count}", f"{name}.conv.{count + 1}")]

    expansions = [expansion for expansion, _, count, _ in STAGES for _ in range(count)]
    last = f"features.{len(expansions) + 1}"
    return {
        "first": conv("features.0.0", "features.0.1"),
        "blocks": [block(f"features.{i + 1}", n) for i, n in enumerate(expansions)],
        "last": conv(f"{last}.0", f"{last}.1"),
        "w": w["classifier.1.weight"].T,
        "b": w["classifier.1.bias"],
    }


def rmsprop(
    *,
    eps_in_sqrt: bool = False,
    initial: float = 0.0,
    rate: Callable[[Any], Any] = lambda count: RATE * 0.5**count,
    rate_inside: bool = False,
    decay: Any = None,
) -> Any:
    """Return the optax equivalent of `torch_rmsprop`; the arguments introduce mistakes."""
    scale = optax.scale_by_rms(ALPHA, EPS, initial, eps_in_sqrt=eps_in_sqrt)
    trace, by_rate = optax.trace(MOMENTUM), optax.scale_by_learning_rate(rate)
    last = (by_rate, trace) if rate_inside else (trace, by_rate)
    return optax.chain(decay or optax.add_decayed_weights(DECAY), scale, *last)


RMSPROP = rmsprop()


def is_weight(path: str) -> bool:
    return path.rpartition("/")[2] not in ("mean", "var")


def is_classifier(path: str) -> bool:
    return path in ("w", "b")


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    width_mult: float = 1.0,
    frozen: bool = False,
    pruned: bool = False,
    depthwise: Callable[[Any], Any] = identity,
    pointwise: Callable[[Any], Any] = identity,
    trainable: Callable[[str], bool] | None = None,
    tx: Any = RMSPROP,
    **tools: Any,
) -> dict[str, Any]:
    """Return a MobileNetV2 and its port; with `pruned`, some values equal a ReLU6 bound."""
    module = build(lambda: MobileNetV2(width_mult, frozen), seed, fresh=fresh)
    module = prune(module) if pruned else module
    port = Port(frozen=frozen, **tools)
    weights = functools.partial(convert, depthwise=depthwise, pointwise=pointwise)
    # The inputs are large enough for some activations to exceed 6.
    images = 5 * np.random.default_rng(seed).standard_normal((BATCH, CHANNELS, IMAGE, IMAGE))
    return dict(
        module=module,
        fn=port.apply,
        params=weights(module.state_dict()),
        inputs=(images,),
        weights=weights,
        loss=(torch_loss, loss),
        trainable=trainable or (is_classifier if frozen else is_weight),
        optimizer=(torch_rmsprop, tx),
        steps=3,
    )


def swapped(kernel: Any) -> Any:
    return jnp.swapaxes(kernel, 0, 1)


def keras_decay() -> Any:
    """Return a weight decay that skips norms and biases."""
    names = ("kernel", "w")
    mask = functools.partial(jax.tree_util.tree_map_with_path, lambda p, _: p[-1].key in names)
    return optax.add_decayed_weights(DECAY, mask)


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "narrow": dict(width_mult=0.5),
    "wide": dict(width_mult=1.4),
    "pruned": dict(pruned=True),
    "folded": dict(folded=True),
    "remat": dict(remat=True),
    "frozen": dict(frozen=True),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "batch_norm_eps",
        "forward",
        "*.1",
        plant=dict(eps=1e-3),
        about="The port uses Keras' default epsilon.",
        cause=r"eps is 0\.001, torch uses 1e-05",
    ),
    Bug(
        "relu",
        "forward",
        "features.*",
        plant=dict(relu6=jax.nn.relu),
        about="The activation is ReLU instead of ReLU6.",
        cause="activation is relu, torch uses (hardtanh|relu6)|no maximum",
    ),
    Bug(
        "same_padding",
        "forward",
        "features.*",
        plant=dict(padding="SAME"),
        about='The padding is "SAME", as in Keras\' MobileNetV2.',
        cause="padding is 'SAME'",
    ),
    Bug(
        "depthwise_swapped",
        "forward",
        "features.*",
        plant=dict(depthwise=swapped),
        about="Height and width of the depthwise kernels are swapped.",
        cause="kernel's height and width are swapped",
    ),
    Bug(
        "square_pointwise",
        "forward",
        "features.1.conv.1",
        plant=dict(pointwise=functools.partial(jnp.swapaxes, axis1=2, axis2=3)),
        about="A square 1x1 kernel is not transposed.",
        cause="kernel's channels are swapped",
    ),
    Bug(
        "active_bottleneck",
        "forward",
        "features.*",
        plant=dict(bottleneck=relu6),
        about="The bottleneck has an activation; in MobileNetV2 it is linear.",
        cause="extra (activation|relu6|hardtanh)",
    ),
    Bug(
        "skip_missing",
        "forward",
        "features.*",
        plant=dict(skip=False),
        about="The residual connection is missing.",
        cause="torch's add is missing",
    ),
    Bug(
        "global_max",
        "forward",
        "",
        plant=dict(mean=jnp.max),
        about="The global pooling is a maximum instead of a mean.",
        cause="reduction is (amax|max)",
    ),
    Bug(
        "relu6_on_bounds",
        "backward",
        "features.*",
        silent=True,
        plant=dict(pruned=True, relu6=lambda x: jnp.clip(x, 0, 6)),
        about="At its bounds `jnp.clip` passes half the gradient, ReLU6 none.",
        cause="equal in some elements",
    ),
    Bug(
        "skip_stopped",
        "backward",
        "features.*",
        silent=True,
        plant=dict(stop_skip=lax.stop_gradient),
        about="The skip connection is detached.",
        cause=extra_stop("stop_skip"),
    ),
    Bug(
        "branch_stopped",
        "structure",
        "features.*",
        silent=True,
        plant=dict(stop_branch=lax.stop_gradient),
        about="The residual branch has an extra `stop_gradient`.",
        cause=extra_stop("stop_branch"),
    ),
    Bug(
        "trunk_stopped",
        "structure",
        "features.*",
        silent=True,
        plant=dict(stop_trunk=lax.stop_gradient),
        about="The features of a fine-tuned network are detached.",
        cause=extra_stop("stop_trunk"),
    ),
    Bug(
        "frozen_trained",
        "structure",
        "features.*",
        silent=True,
        plant=dict(frozen=True, stop_frozen=identity, trainable=is_weight),
        about="`requires_grad=False` has no counterpart in the port.",
        cause="put a stop_gradient around the leaf|"
        + missing_stop("requires_grad", r"stop_frozen|run\(block|scale|conv_general_dilated"),
    ),
    Bug(
        "statistics_trained",
        "structure",
        "features.*running_*",
        silent=True,
        plant=dict(trainable=lambda path: True),
        about="The running statistics are leaves of `params`, so they train.",
        cause="leaf is among those that are trained",
    ),
    Bug(
        "eps_in_root",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=rmsprop(eps_in_sqrt=True)),
        about="The epsilon of optax's RMSProp is inside the square root by default.",
        cause="eps.* (inside|outside)",
    ),
    Bug(
        "initial_scale",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=rmsprop(initial=1.0)),
        about="The squared-gradient average starts at one, as in TensorFlow.",
        cause="initial",
    ),
    Bug(
        "rate_inside_momentum",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=rmsprop(rate_inside=True)),
        about="The rate is inside the momentum, which is the same only for a constant rate.",
        cause="(rate|schedule).*momentum|momentum.*(rate|schedule)",
    ),
    Bug(
        "schedule_off_by_one",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=rmsprop(rate=lambda count: RATE * 0.5 ** (count + 1))),
        about="The rate decays before the first step.",
        cause=r"one step ahead|learning rate is 0\.5 times",
    ),
    Bug(
        "norms_not_decayed",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=rmsprop(decay=keras_decay())),
        about="torch's `weight_decay` applies to every parameter, norms included.",
        cause="decay is not applied to",
    ),
)
