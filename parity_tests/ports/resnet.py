"""A ResNet of basic blocks with batch norm in eval mode, and its port to linen, channels last."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch.nn import functional

import jaxgrad
from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


IMAGE, CHANNELS, WIDTH, WIDER, CLASSES, BATCH, REPEATED = 12, 3, 6, 8, 4, 3, 2
RATE, MOMENTUM, DAMPENING, DECAY, CLIP = 0.05, 0.9, 0.1, 0.01, 0.5
LABELS = np.arange(BATCH)


def conv3x3(inner: int, outer: int, stride: int = 1):
    return torch.nn.Conv2d(inner, outer, 3, stride=stride, padding=1, bias=False)


class BasicBlock(torch.nn.Module):
    def __init__(self, inner: int, outer: int, stride: int = 1):
        super().__init__()
        self.conv1 = conv3x3(inner, outer, stride)
        self.bn1 = torch.nn.BatchNorm2d(outer)
        self.relu = torch.nn.ReLU(inplace=True)
        self.conv2 = conv3x3(outer, outer)
        self.bn2 = torch.nn.BatchNorm2d(outer)
        torch.nn.init.zeros_(self.bn2.weight)  # torchvision's `zero_init_residual`
        self.downsample = None
        if stride != 1:
            self.downsample = torch.nn.Sequential(
                torch.nn.Conv2d(inner, outer, 1, stride=stride, bias=False),
                torch.nn.BatchNorm2d(outer),
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(torch.nn.Module):
    def __init__(self, frozen_norms: bool = False):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(CHANNELS, WIDTH, 5, stride=2, padding=2, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(WIDTH)
        self.relu = torch.nn.ReLU(inplace=True)
        self.maxpool = torch.nn.MaxPool2d(3, stride=1, padding=1)
        self.layer1 = torch.nn.Sequential(*[BasicBlock(WIDTH, WIDTH) for _ in range(REPEATED)])
        self.layer2 = torch.nn.Sequential(BasicBlock(WIDTH, WIDER, stride=2))
        self.avgpool = torch.nn.AdaptiveAvgPool2d((1, 1))
        self.fc = torch.nn.Linear(WIDER, CLASSES)
        for part in self.modules():
            if isinstance(part, torch.nn.BatchNorm2d) and frozen_norms:
                part.requires_grad_(False)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def torch_loss(logits: Any) -> Any:
    return functional.cross_entropy(logits, torch.tensor(LABELS), label_smoothing=0.1)


def torch_sgd(params: Any) -> torch.optim.Optimizer:
    params = list(params)
    groups = [
        {"params": [p for p in params if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in params if p.ndim == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.SGD(groups, RATE, momentum=MOMENTUM, dampening=DAMPENING)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2], gamma=0.1)

    def clip(*_: Any) -> None:
        torch.nn.utils.clip_grad_norm_(params, CLIP)

    optimizer.register_step_pre_hook(clip)
    optimizer.register_step_post_hook(lambda *_: schedule.step())
    return optimizer


SAME = ((1, 1), (1, 1))  # torch's padding=1; "SAME" differs from it when there is a stride


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the JAX port; most values other than the default are porting mistakes."""

    scan: bool = False
    remat: bool = False
    eps: float = 1e-5
    relu: Callable[[Any], Any] = nn.relu
    padding: Any = SAME
    pool_padding: Any = SAME
    strided: int = 0  # the index of the convolution with the stride
    relu_last: bool = True
    stop_shortcut: Callable[[Any], Any] = identity
    stop_downsample: Callable[[Any], Any] = identity
    stop_affine: Callable[[Any], Any] = identity


class FrozenStatisticsNorm(nn.Module):
    """Normalise by the statistics in `batch_stats`, which are never updated."""

    choices: Choices
    features: int

    @nn.compact
    def __call__(self, x: Any) -> Any:
        c, n = self.choices, (self.features,)
        ones, zeros = nn.initializers.ones, nn.initializers.zeros
        scale, offset = c.stop_affine(
            (self.param("scale", ones, n), self.param("offset", zeros, n))
        )
        mean = self.variable("batch_stats", "mean", jnp.zeros, n).value
        var = self.variable("batch_stats", "var", jnp.ones, n).value
        return scale * (x - mean) / jnp.sqrt(var + c.eps) + offset


class Residual(nn.Module):
    choices: Choices
    features: int
    stride: int = 1

    @nn.compact
    def __call__(self, x: Any) -> tuple[Any, None]:
        c = self.choices
        strides = [1, 1]
        strides[c.strided] = self.stride
        y = x
        for i, stride in enumerate(strides):
            padding = c.padding if stride != 1 else SAME
            conv = nn.Conv(
                self.features, (3, 3), stride, padding, use_bias=False, name=f"filter_{i}"
            )
            y = FrozenStatisticsNorm(c, self.features, name=f"scale_{i}")(conv(y))
            y = c.relu(y) if i == 0 else y
        if self.stride == 1:
            shortcut = c.stop_shortcut(x)
        else:
            conv = nn.Conv(self.features, (1, 1), self.stride, use_bias=False, name="project")
            normed = FrozenStatisticsNorm(c, self.features, name="scale_project")(conv(x))
            shortcut = c.stop_downsample(normed)
        return (c.relu(y + shortcut) if c.relu_last else c.relu(y) + shortcut), None


class Classifier(nn.Module):
    choices: Choices

    @nn.compact
    def __call__(self, images: Any) -> Any:
        c = self.choices
        x = images.transpose(0, 2, 3, 1)
        x = nn.Conv(WIDTH, (5, 5), 2, ((2, 2), (2, 2)), use_bias=False, name="stem")(x)
        x = c.relu(FrozenStatisticsNorm(c, WIDTH, name="scale_stem")(x))
        x = nn.max_pool(x, (3, 3), (1, 1), c.pool_padding)
        block = nn.remat(Residual) if c.remat else Residual
        if c.scan:
            split: Any = dict(variable_axes={"params": 0, "batch_stats": 0})
            split |= dict(split_rngs={"params": True}, length=REPEATED)
            x, _ = nn.scan(block, **split)(c, WIDTH, name="repeated")(x)
        else:
            for i in range(REPEATED):
                x, _ = block(c, WIDTH, name=f"block_{i}")(x)
        x, _ = block(c, WIDER, 2, name="last_block")(x)
        return nn.Dense(CLASSES, name="out")(x.mean((1, 2)))


def convert(
    state: Any, *, scan: bool = False, turned: Callable[[Any], Any] = identity
) -> dict[str, Any]:
    """Return linen variables with the weights of `ResNet`."""
    w = arrays(state)

    def conv(name: str) -> dict[str, Any]:
        return {"kernel": turned(jnp.moveaxis(w[f"{name}.weight"], (0, 1), (3, 2)))}

    def affine(name: str) -> dict[str, Any]:
        return {"scale": w[f"{name}.weight"], "offset": w[f"{name}.bias"]}

    def statistics(name: str) -> dict[str, Any]:
        return {"mean": w[f"{name}.running_mean"], "var": w[f"{name}.running_var"]}

    def block(name: str, norm: Callable[[str], Any], conv: Callable[[str], Any]) -> Any:
        names = {f"{kind}_{i}": f"{name}.{n}{i + 1}" for i in (0, 1) for kind, n in KINDS}
        if f"{name}.downsample.0.weight" in w:
            names |= {"project": f"{name}.downsample.0", "scale_project": f"{name}.downsample.1"}
        weights = {key: (norm if "scale" in key else conv)(names[key]) for key in names}
        return {name: value for name, value in weights.items() if value}

    def network(norm: Callable[[str], Any], conv: Callable[[str], Any]) -> dict[str, Any]:
        blocks = [block(f"layer1.{i}", norm, conv) for i in range(REPEATED)]
        stacked = {"repeated": jax.tree.map(lambda *x: jnp.stack(x), *blocks)}
        listed = {f"block_{i}": b for i, b in enumerate(blocks)}
        ends = {"scale_stem": norm("bn1"), "last_block": block("layer2.0", norm, conv)}
        return ends | (stacked if scan else listed)

    out = dense(w, "fc")
    params = {"stem": conv("conv1"), "out": out} | network(affine, conv)
    return {"params": params, "batch_stats": network(statistics, lambda _: {})}


KINDS = (("filter", "conv"), ("scale", "bn"))


def loss(logits: Any) -> Any:
    targets = optax.smooth_labels(jax.nn.one_hot(LABELS, CLASSES), 0.1)
    return jnp.mean(optax.softmax_cross_entropy(logits, targets))


def dampened_trace(dampening: float = DAMPENING, *, first: bool = False) -> Any:
    """Return torch's momentum, which dampens every gradient except the first."""

    def init(params: Any) -> Any:
        return jnp.zeros((), int), jax.tree.map(jnp.zeros_like, params)

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        del params
        count, trace = state
        share = 1 - dampening if first else jnp.where(count == 0, 1.0, 1 - dampening)
        trace = jax.tree.map(lambda t, g: MOMENTUM * t + share * g, trace, updates)
        return trace, (count + 1, trace)

    return optax.GradientTransformation(init, update)


def is_kernel(path: Any, x: Any) -> bool:
    return path[-1].key == "kernel"


def clip(grads: Any) -> Any:
    return jaxgrad.clip_grad_norm(grads, CLIP)[0]


def drop(count: Any) -> Any:
    return jnp.where(count < 2, RATE, 0.1 * RATE)


def sgd(
    *,
    clip: Callable[[Any], Any] = clip,
    trace: Any = None,
    decays: Callable[[Any, Any], bool] = is_kernel,
    rate: Callable[[Any], Any] = drop,
    decay_last: bool = False,
) -> Any:
    """Return the optax equivalent of `torch_sgd`; the arguments introduce mistakes."""
    mask = functools.partial(jax.tree_util.tree_map_with_path, decays)
    parts = [optax.add_decayed_weights(DECAY, mask), trace or dampened_trace()]
    clipping = optax.stateless(lambda grads, _: clip(grads))
    return optax.chain(
        clipping, *(parts[::-1] if decay_last else parts), optax.scale_by_learning_rate(rate)
    )


SGD = sgd()


def in_params(path: str) -> bool:
    return path.startswith("params/")


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    scan: bool = False,
    frozen_norms: bool = False,
    turned: Callable[[Any], Any] = identity,
    trainable: Callable[[str], bool] = in_params,
    tx: Any = SGD,
    **tools: Any,
) -> dict[str, Any]:
    """Return a ResNet and its linen port; with `fresh`, residual branches start at zero."""
    module = build(lambda: ResNet(frozen_norms), seed, fresh=fresh)
    if frozen_norms:
        tools = {"stop_affine": lax.stop_gradient} | tools
    model = Classifier(Choices(scan=scan, **tools))
    weights = functools.partial(convert, scan=scan, turned=turned)
    images = np.random.default_rng(seed).standard_normal((BATCH, CHANNELS, IMAGE, IMAGE))
    return dict(
        module=module,
        fn=model.apply,
        params=weights(module.state_dict()),
        inputs=(images,),
        weights=weights,
        loss=(torch_loss, loss),
        trainable=trainable,
        optimizer=(torch_sgd, tx),
        steps=3,
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "scan": dict(scan=True),
    "remat": dict(remat=True),
    "scan_remat": dict(scan=True, remat=True),
    "frozen_norms": dict(frozen_norms=True),
    "fresh_scan": dict(fresh=True, scan=True),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "same_padding",
        "forward",
        "layer2.0.conv1",
        plant=dict(padding="SAME"),
        about='"SAME" pads a strided convolution at its end only.',
        cause="padding is 'SAME'",
    ),
    Bug(
        "pool_padding",
        "forward",
        "maxpool",
        plant=dict(pool_padding=((0, 2), (0, 2))),
        about="The pooling windows are shifted by one.",
        cause=r"0 before and 2 after|\(0, 2\)",
    ),
    Bug(
        "batch_norm_eps",
        "forward",
        "*bn1",
        plant=dict(eps=1e-3),
        about="The port uses Keras' default epsilon.",
        cause=r"eps is 0\.001, torch uses 1e-05",
    ),
    Bug(
        "batch_norm_eps_in_scan",
        "forward",
        "*bn1",
        plant=dict(scan=True, eps=1e-3),
        about="The port uses Keras' default epsilon inside a scan.",
        cause=r"eps is 0\.001, torch uses 1e-05",
    ),
    Bug(
        "kernels_rotated",
        "forward",
        "conv1",
        plant=dict(turned=lambda kernel: kernel[::-1, ::-1]),
        about="The kernels are flipped, as in a mathematical convolution.",
        cause="kernel is flipped",
    ),
    Bug(
        "stride_second",
        "forward",
        "layer2.0*",
        plant=dict(strided=1),
        about="The second convolution has the stride instead of the first.",
        cause="stride",
    ),
    Bug(
        "relu_before_sum",
        "forward",
        "layer1.0*",
        plant=dict(relu_last=False),
        about="The ReLU is applied before the residual sum.",
        cause="relu.* (before|first)",
    ),
    Bug(
        "relu_at_zero",
        "backward",
        "layer*",
        silent=True,
        plant=dict(fresh=True, relu=lambda x: jnp.maximum(x, 0.0)),
        about="At zero `jnp.maximum` passes half the gradient, ReLU none.",
        cause="equal in some elements",
    ),
    Bug(
        "shortcut_stopped",
        "backward",
        "layer1.*",
        silent=True,
        plant=dict(stop_shortcut=lax.stop_gradient),
        about="The skip connection is detached.",
        cause=extra_stop("stop_shortcut"),
    ),
    Bug(
        "shortcut_stopped_in_scan",
        "backward",
        "layer1.*",
        silent=True,
        plant=dict(scan=True, stop_shortcut=lax.stop_gradient),
        about="The skip connection is detached inside a scan over blocks.",
        cause=extra_stop("stop_shortcut"),
    ),
    Bug(
        "downsample_stopped",
        "structure",
        "layer2.0.downsample*",
        silent=True,
        plant=dict(stop_downsample=lax.stop_gradient),
        about="The downsampling projection is detached, so it never trains.",
        cause=extra_stop("stop_downsample"),
    ),
    Bug(
        "frozen_norms_trained",
        "structure",
        "*bn*",
        silent=True,
        plant=dict(frozen_norms=True, stop_affine=identity),
        about="The norms are frozen in torch but train in the port.",
        cause="put a stop_gradient around the leaf|"
        + missing_stop("requires_grad", "stop_affine|FrozenStatisticsNorm"),
    ),
    Bug(
        "statistics_trained",
        "structure",
        "*running_*",
        silent=True,
        plant=dict(trainable=lambda path: True),
        about="The optimizer is given all variables, `batch_stats` included.",
        cause="leaf is among those that are trained",
    ),
    Bug(
        "dampening_lost",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=sgd(trace=optax.trace(MOMENTUM))),
        about="`optax.trace` has no dampening.",
        cause=r"dampening is (missing|0\b)",
    ),
    Bug(
        "dampening_of_first",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=sgd(trace=dampened_trace(first=True))),
        about="The port dampens the first step; torch does not.",
        cause="first .*dampen|dampen.* first",
    ),
    Bug(
        "clip_eps",
        "updates",
        "*",
        silent=True,
        plant=dict(
            tx=sgd(clip=lambda g: optax.clip_by_global_norm(CLIP).update(g, optax.EmptyState())[0])
        ),
        about="torch adds 1e-6 to the norm that it divides by.",
        cause="lacks the 1e-6",
    ),
    Bug(
        "clip_each_tensor",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=sgd(clip=lambda grads: jax.tree.map(clip, grads))),
        about="Each gradient is clipped by its own norm.",
        cause="own norm",
    ),
    Bug(
        "decay_on_norms",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=sgd(decays=lambda path, x: True)),
        about="Biases and norms decay too.",
        cause="decay applies to all weights|decay is applied to",
    ),
    Bug(
        "decay_decoupled",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=sgd(decay_last=True)),
        about="Weight decay is applied after the momentum.",
        cause="decay .*(decoupled|after the momentum)",
    ),
    Bug(
        "schedule_off_by_one",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=sgd(rate=lambda count: drop(count + 1))),
        about="The rate drops one step early.",
        cause="one step ahead",
    ),
)
