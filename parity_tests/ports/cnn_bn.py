"""A quantised CNN with batch norm in train mode, and its port to flax nnx, channels last."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx
from jax import lax
from torch import nn

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug


IMAGE, CHANNELS, WIDTH, WIDER, CLASSES, BATCH = 10, 3, 4, 6, 5, 3
LEVELS, RANGE = 2, 2.0  # of the quantised activation: steps of 1/2 in [-2, 2]


class FakeQuant(nn.Module):
    """Rounds in the forward pass only, as quantisation-aware training does."""

    def __init__(self, quantised: bool = True):
        super().__init__()
        self.quantised = quantised

    def forward(self, x):
        x = torch.clamp(x, -RANGE, RANGE)
        return x + (torch.round(x * LEVELS) / LEVELS - x).detach() if self.quantised else x


class CNN(nn.Module):
    def __init__(self, quantised: bool = True, momentum: float = 0.1):
        super().__init__()
        self.conv1 = nn.Conv2d(CHANNELS, WIDTH, 3, padding=1)  # its bias is lost in the norm
        self.bn1 = nn.BatchNorm2d(WIDTH, momentum=momentum)
        self.quant = FakeQuant(quantised)
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(WIDTH, WIDER, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(WIDER, momentum=momentum)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(WIDER * 9, CLASSES)

    def forward(self, x):
        x = torch.tanh(self.pool(self.quant(self.bn1(self.conv1(x)))))
        x = nn.functional.elu(self.bn2(self.conv2(x)))
        return self.fc(self.dropout(torch.flatten(x, 1)))


def first_max(x: Any) -> Any:
    """2 x 2 max pooling; of equal values the first has the gradient."""
    return nnx.max_pool(x, (2, 2), strides=(2, 2))


def every_max(x: Any) -> Any:
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def straight_through(x: Any, rounded: Any) -> Any:
    return x + lax.stop_gradient(rounded - x)


@dataclasses.dataclass(frozen=True)
class Choices:
    """Where a port goes wrong."""

    quantised: bool = True
    eps: float = 1e-5
    momentum: float = 0.1
    ddof: int = 1
    training: bool = True
    padding: Any = ((1, 1), (1, 1))
    pool: Callable[[Any], Any] = first_max
    through: Callable[[Any, Any], Any] = straight_through
    stop_statistics: Callable[[Any], Any] = identity
    stop_features: Callable[[Any], Any] = identity
    clipped_first: bool = True
    channels_first: bool = True

    def quantise(self, x: Any) -> Any:
        clipped = jnp.where(x > RANGE, RANGE, jnp.where(x < -RANGE, -RANGE, x))
        if not self.quantised:
            return clipped
        rounded = jnp.round(clipped * LEVELS) / LEVELS
        return self.through(clipped if self.clipped_first else x, rounded)


class BatchNorm(nnx.Module):
    def __init__(self, features: int, choices: Choices):
        self.scale = nnx.Param(jnp.ones(features))
        self.bias = nnx.Param(jnp.zeros(features))
        self.mean = nnx.BatchStat(jnp.zeros(features))
        self.var = nnx.BatchStat(jnp.ones(features))
        self.choices = choices

    def __call__(self, x: Any) -> Any:
        c = self.choices
        mean = jnp.mean(x, (0, 1, 2))
        var = jnp.mean(jnp.square(x), (0, 1, 2)) - jnp.square(mean)
        count = x.size // x.shape[-1]
        if c.training:
            old, new = (1 - c.momentum), c.momentum
            unbiased = var * (count / (count - c.ddof))
            self.mean[...] = old * self.mean[...] + new * mean
            self.var[...] = old * self.var[...] + new * unbiased
        else:
            mean, var = self.mean[...], self.var[...]
        mean, var = c.stop_statistics((mean, var))
        return (x - mean) * (lax.rsqrt(var + c.eps) * self.scale[...]) + self.bias[...]


class ConvNet(nnx.Module):
    def __init__(self, choices: Choices, rngs: nnx.Rngs):
        same = ((1, 1), (1, 1))
        self.stem = nnx.Conv(CHANNELS, WIDTH, (3, 3), padding=same, rngs=rngs)
        self.stem_norm = BatchNorm(WIDTH, choices)
        self.widen = nnx.Conv(
            WIDTH, WIDER, (3, 3), strides=2, padding=choices.padding, use_bias=False, rngs=rngs
        )
        self.widen_norm = BatchNorm(WIDER, choices)
        self.classify = nnx.Linear(WIDER * 9, CLASSES, rngs=rngs)
        self.choices = choices

    def __call__(self, images: Any) -> Any:
        c = self.choices
        x = jnp.moveaxis(images, 1, -1)
        x = c.pool(c.quantise(self.stem_norm(self.stem(x))))
        x = nnx.elu(self.widen_norm(self.widen(jnp.tanh(x))))
        x = jnp.moveaxis(x, -1, 1) if c.channels_first else x
        return self.classify(c.stop_features(x.reshape(len(x), -1)))


def hwio(kernel: Any) -> Any:
    return jnp.transpose(kernel, (2, 3, 1, 0))


def whio(kernel: Any) -> Any:
    return jnp.transpose(kernel, (3, 2, 1, 0))


def convert(
    state: Any, *, choices: Choices, kernel: Callable[[Any], Any] = hwio
) -> tuple[nnx.GraphDef[ConvNet], nnx.State]:
    """`CNN`'s weights in a `ConvNet`, split into what is static and what is not."""
    w = arrays(state)

    def norm(name: str) -> dict[str, Any]:
        affine = {"scale": w[f"{name}.weight"], "bias": w[f"{name}.bias"]}
        return affine | {"mean": w[f"{name}.running_mean"], "var": w[f"{name}.running_var"]}

    graph, made = nnx.split(ConvNet(choices, nnx.Rngs(0)))
    values = {
        "stem": {"kernel": kernel(w["conv1.weight"]), "bias": w["conv1.bias"]},
        "stem_norm": norm("bn1"),
        "widen": {"kernel": kernel(w["conv2.weight"])},
        "widen_norm": norm("bn2"),
        "classify": {"kernel": w["fc.weight"].T, "bias": w["fc.bias"]},
    }
    nnx.replace_by_pure_dict(made, values)
    return graph, made


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    quantised: bool = True,
    slow: bool = False,
    train: bool = True,
    kernel: Callable[[Any], Any] = hwio,
    remat: bool = False,
    **tools: Any,
) -> dict[str, Any]:
    """A CNN in train mode against flax nnx, with the running statistics that it leaves behind."""
    momentum = 0.01 if slow else 0.1
    module = build(lambda: CNN(quantised, momentum), seed, fresh=fresh).train(train)
    module.dropout.eval()
    defaults: dict[str, Any] = dict(quantised=quantised, momentum=momentum, training=train)
    choices = Choices(**(defaults | tools))
    graph, params = convert(module.state_dict(), choices=choices, kernel=kernel)

    def apply(params: nnx.State, images: Any) -> tuple[Any, Any]:
        model = nnx.merge(graph, params)
        logits = model(images)
        return logits, nnx.to_pure_dict(nnx.state(model, nnx.BatchStat))

    images = np.random.default_rng(seed).standard_normal((BATCH, CHANNELS, IMAGE, IMAGE))
    return dict(
        module=module,
        fn=jax.checkpoint(apply) if remat else apply,
        params=params,
        inputs=(images,),
        has_state=True,
        weights=lambda state: convert(state, choices=choices, kernel=kernel)[1],
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "smooth": dict(quantised=False),
    "slow_statistics": dict(slow=True),
    "eval": dict(train=False),
    "remat": dict(remat=True),
}

BUGS: tuple[Bug, ...] = (
    Bug("batch_norm_eps", "forward", "bn*", eps=1e-3, about="Keras' eps"),
    Bug(
        "same_padding",
        "forward",
        "conv2",
        padding=((0, 2), (0, 2)),
        about="all padding at the end, as older TensorFlow models have it",
    ),
    Bug(
        "kernel_height_and_width",
        "forward",
        "conv*",
        kernel=whio,
        about="OIHW reversed: height and width change places",
    ),
    Bug(
        "flatten_channels_last",
        "forward",
        "fc",
        channels_first=False,
        about="the classifier's weight expects channels first",
    ),
    Bug(
        "running_statistics_used",
        "forward",
        "bn*",
        training=False,
        about="train mode in torch, use_running_average in JAX",
    ),
    Bug(
        "momentum_sense",
        "updates",
        "bn*",
        silent=True,
        momentum=0.9,
        about="torch's momentum is the share of the new, flax's of the old",
    ),
    Bug(
        "biased_running_variance",
        "updates",
        "bn*.running_var",
        silent=True,
        ddof=0,
        about="torch keeps N - 1 in the running variance, flax N",
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "bn*",
        silent=True,
        stop_statistics=lax.stop_gradient,
        about="the batch's mean and variance held constant",
    ),
    Bug(
        "pool_ties",
        "backward",
        "pool",
        silent=True,
        pool=every_max,
        about="a maximum by reshape shares the gradient among equal values",
    ),
    Bug(
        "straight_through_lost",
        "backward",
        "quant",
        silent=True,
        through=lambda x, rounded: rounded,
        about="the gradient of round is zero, of its stand-in one",
    ),
    Bug(
        "straight_through_outside",
        "backward",
        "quant",
        silent=True,
        clipped_first=False,
        about="the clipped values get a gradient too",
    ),
    Bug(
        "features_stopped",
        "structure",
        "[bc]*",
        silent=True,
        stop_features=lax.stop_gradient,
        about="a linear probe's detach left in",
    ),
)
