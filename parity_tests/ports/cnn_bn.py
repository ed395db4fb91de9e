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
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


IMAGE, CHANNELS, WIDTH, WIDER, CLASSES, BATCH = 10, 3, 4, 6, 5, 3
LEVELS, RANGE = 2, 2.0  # the quantised activation has steps of 1/2 in [-2, 2]


class FakeQuant(nn.Module):
    """Round in the forward pass only, as in quantisation-aware training."""

    def __init__(self, quantised: bool = True):
        super().__init__()
        self.quantised = quantised

    def forward(self, x):
        x = torch.clamp(x, -RANGE, RANGE)
        return x + (torch.round(x * LEVELS) / LEVELS - x).detach() if self.quantised else x


class CNN(nn.Module):
    def __init__(self, quantised: bool = True, momentum: float = 0.1):
        super().__init__()
        self.conv1 = nn.Conv2d(CHANNELS, WIDTH, 3, padding=1)  # the norm removes its bias
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
    """Apply 2 x 2 max pooling, where the first of equal values receives the gradient."""
    return nnx.max_pool(x, (2, 2), strides=(2, 2))


def every_max(x: Any) -> Any:
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def straight_through(x: Any, rounded: Any) -> Any:
    return x + lax.stop_gradient(rounded - x)


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the JAX port; most values other than the default are porting mistakes."""

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
    """Return the graph definition and state of a `ConvNet` with the weights of `CNN`."""
    w = arrays(state)

    def norm(name: str) -> dict[str, Any]:
        affine = {"scale": w[f"{name}.weight"], "bias": w[f"{name}.bias"]}
        return affine | {"mean": w[f"{name}.running_mean"], "var": w[f"{name}.running_var"]}

    graph, params = nnx.split(ConvNet(choices, nnx.Rngs(0)))
    values = {
        "stem": {"kernel": kernel(w["conv1.weight"]), "bias": w["conv1.bias"]},
        "stem_norm": norm("bn1"),
        "widen": {"kernel": kernel(w["conv2.weight"])},
        "widen_norm": norm("bn2"),
        "classify": dense(w, "fc"),
    }
    nnx.replace_by_pure_dict(params, values)
    return graph, params


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
    """Return a CNN in train mode and its flax nnx port, which returns new running statistics."""
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
    Bug(
        "batch_norm_eps",
        "forward",
        "bn*",
        plant=dict(eps=1e-3),
        about="The port uses Keras' default epsilon.",
        cause=r"eps is 0\.001, torch uses 1e-05",
    ),
    Bug(
        "same_padding",
        "forward",
        "conv2",
        plant=dict(padding=((0, 2), (0, 2))),
        about="All padding is at the end, as in older TensorFlow models.",
        cause=r"0 before and 2 after|\(0, 2\)",
    ),
    Bug(
        "kernel_height_and_width",
        "forward",
        "conv*",
        plant=dict(kernel=whio),
        about="The kernel's axes are reversed, which swaps height and width.",
        cause="kernel's height and width are swapped",
    ),
    Bug(
        "flatten_channels_last",
        "forward",
        ("", "fc"),  # the flattening, or the layer that reads it
        plant=dict(channels_first=False),
        about="Features are flattened channels last, but the classifier expects channels first.",
        cause="channels are flattened last",
    ),
    Bug(
        "running_statistics_used",
        "forward",
        "bn*",
        plant=dict(training=False),
        about="torch runs in train mode, the port with `use_running_average=True`.",
        cause="normalises with the running statistics",
    ),
    Bug(
        "momentum_sense",
        "updates",
        "bn*",
        silent=True,
        plant=dict(momentum=0.9),
        about="torch's momentum weights the new statistics, flax's the old ones.",
        cause=r"momentum is inverted|momentum is 0\.9, torch uses 0\.1",
    ),
    Bug(
        "biased_running_variance",
        "updates",
        "bn*.running_var",
        silent=True,
        plant=dict(ddof=0),
        about="torch's running variance is unbiased, flax's is biased.",
        cause=r"variance is divided by N\b",
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "bn*",
        silent=True,
        plant=dict(stop_statistics=lax.stop_gradient),
        about="The batch mean and variance are detached.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "pool_ties",
        "backward",
        "pool",
        silent=True,
        plant=dict(pool=every_max),
        about="A maximum over a reshaped window splits the gradient among ties.",
        cause="equal in some elements|ties",
    ),
    Bug(
        "straight_through_lost",
        "backward",
        "quant",
        silent=True,
        plant=dict(through=lambda x, rounded: rounded),
        about="`round` has a zero gradient; the straight-through estimator passes it unchanged.",
        cause=missing_stop(r"torch\.round", r"self\.through|rounded"),
    ),
    Bug(
        "straight_through_outside",
        "backward",
        "quant",
        silent=True,
        plant=dict(clipped_first=False),
        about="Values outside the clipping range receive a gradient too.",
        cause="clamp",
    ),
    Bug(
        "features_stopped",
        "structure",
        "[bc]*",
        silent=True,
        plant=dict(stop_features=lax.stop_gradient),
        about="A `detach` that was used for linear probing is still there.",
        cause=extra_stop("stop_features"),
    ),
)
