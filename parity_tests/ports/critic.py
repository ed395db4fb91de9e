"""A WGAN-GP critic, whose loss contains a gradient, and its port to linen with channels last."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


IMAGE, CHANNELS, WIDTH, LATENT, BATCH, PENALTY = 8, 2, 6, 4, 3, 10.0
FLAT = (IMAGE // 4) ** 2 * WIDTH


class Critic(torch.nn.Module):
    """Score images with two strided convolutions.

    There is no batch norm, because the gradient penalty needs independent samples.
    """

    def __init__(self, norm: str = "instance"):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(CHANNELS, WIDTH, 4, stride=2, padding=1)
        self.conv2 = torch.nn.Conv2d(WIDTH, WIDTH, 4, stride=2, padding=1)
        if norm == "instance":
            self.norm = torch.nn.InstanceNorm2d(WIDTH, affine=True)
        else:
            self.norm = torch.nn.LayerNorm([WIDTH, IMAGE // 4, IMAGE // 4])
        self.act = torch.nn.LeakyReLU(0.2)
        self.score = torch.nn.Linear(FLAT, 1)

    def forward(self, images, present):
        x = images * present[:, None, None, None]
        x = self.act(self.conv1(x))
        x = self.act(self.norm(self.conv2(x)))
        return self.score(x.flatten(1)).squeeze(1)


class Penalised(torch.nn.Module):
    """Compute the scores of real and fake images, and the critic's gradient at points between."""

    def __init__(self, norm: str = "instance"):
        super().__init__()
        self.generator = torch.nn.Sequential(
            torch.nn.Linear(LATENT, CHANNELS * IMAGE * IMAGE), torch.nn.Tanh()
        )
        self.critic = Critic(norm)

    def forward(self, real, noise, alpha, present):
        fake = self.generator(noise).view_as(real).detach()
        mixed = (alpha * real + (1 - alpha) * fake).requires_grad_()
        scores = self.critic(mixed, present)
        (slope,) = torch.autograd.grad(scores.sum(), mixed, create_graph=True)
        return self.critic(real, present), self.critic(fake, present), slope


def torch_loss(outputs: Any) -> Any:
    real, fake, slope = outputs
    penalty = ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
    return fake.mean() - real.mean() + PENALTY * penalty


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the JAX port; values other than the default are mistakes, except for `norm`."""

    norm: str = "instance"
    eps: float = 1e-5
    slope: float = 0.2
    axes: tuple[int, ...] = (1, 2)
    padding: Any = 1
    channels_last: bool = (
        False  # whether features are flattened with channels last, as is common in linen
    )
    stop_statistics: Callable[[Any], Any] = identity
    stop_fake: Callable[[Any], Any] = lax.stop_gradient
    stop_slope: Callable[[Any], Any] = identity
    frozen_slope: bool = False
    of_batch: Callable[[Any], Any] = jnp.sum


class Scorer(nn.Module):
    choices: Choices = Choices()

    @nn.compact
    def __call__(self, images: Any, present: Any) -> Any:
        """Return one score for each NHWC image."""
        c = self.choices
        conv = functools.partial(nn.Conv, WIDTH, (4, 4), strides=2, padding=c.padding)
        act = functools.partial(nn.leaky_relu, negative_slope=c.slope)
        h = act(conv()(images * present.reshape(-1, 1, 1, 1)))
        h = conv()(h)
        axes = c.axes if c.norm == "instance" else (1, 2, 3)
        shape = (WIDTH,) if c.norm == "instance" else h.shape[1:]
        mean = jnp.mean(h, axes, keepdims=True)
        spread = jnp.sqrt(jnp.var(h, axes, keepdims=True) + c.eps)
        mean, spread = c.stop_statistics((mean, spread))
        gain = self.param("gain", nn.initializers.ones, shape)
        shift = self.param("shift", nn.initializers.zeros, shape)
        h = act((h - mean) / spread * gain + shift)
        h = h if c.channels_last else h.transpose(0, 3, 1, 2)
        return nn.Dense(1)(h.reshape(len(h), -1))[:, 0]


def apply(params: Any, real: Any, noise: Any, alpha: Any, present: Any, *, choices: Any) -> Any:
    """Return the scores of real and fake images, and the critic's gradient at points between."""
    c, score = choices, Scorer(choices).apply
    fake = jnp.tanh(noise @ params["generator"]["kernel"] + params["generator"]["bias"])
    fake = c.stop_fake(fake).reshape(real.shape)
    real, fake, mix = (x.transpose(0, 2, 3, 1) for x in (real, fake, alpha))
    weights = params["critic"]
    inner = lax.stop_gradient(weights) if c.frozen_slope else weights

    def total(mixed: Any) -> Any:
        return c.of_batch(score(inner, mixed, present))

    slope = c.stop_slope(jax.grad(total)(mix * real + (1 - mix) * fake))
    return score(weights, real, present), score(weights, fake, present), slope.transpose(0, 3, 1, 2)


def safe_norm(x: Any) -> Any:
    """Return the norm of each row, with gradient zero at zero as in torch."""
    square = jnp.sum(x**2, axis=1)
    zero = square == 0
    return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, square)))


def loss(outputs: Any, *, norm: Callable[[Any], Any] = safe_norm) -> Any:
    real, fake, slope = outputs
    length = norm(slope.reshape(len(slope), -1))
    return jnp.mean(fake) - jnp.mean(real) + PENALTY * jnp.mean((length - 1) ** 2)


def convert(state: Any, *, choices: Choices, score: Callable[[Any], Any] = identity) -> Any:
    """Convert OIHW kernels to HWIO; the final score's kernel keeps its channels first."""
    w = {name.removeprefix("critic."): x for name, x in arrays(state).items()}

    def conv(name: str) -> dict[str, Any]:
        return {"kernel": w[f"{name}.weight"].transpose(2, 3, 1, 0), "bias": w[f"{name}.bias"]}

    turn = identity if choices.norm == "instance" else lambda x: x.transpose(1, 2, 0)
    params = {
        "Conv_0": conv("conv1"),
        "Conv_1": conv("conv2"),
        "gain": turn(w["norm.weight"]),
        "shift": turn(w["norm.bias"]),
        "Dense_0": {"kernel": score(w["score.weight"].T), "bias": w["score.bias"]},
    }
    generator = dense(w, "generator.0")
    return {"generator": generator, "critic": {"params": params}}


def for_channels_last(kernel: Any) -> Any:
    side = IMAGE // 4
    return kernel.reshape(WIDTH, side, side, 1).transpose(1, 2, 0, 3).reshape(FLAT, 1)


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    absent: bool = False,
    train: bool = True,
    score: Callable[[Any], Any] = identity,
    norm_of_slope: Callable[[Any], Any] = safe_norm,
    **choices: Any,
) -> dict[str, Any]:
    """Return a critic and its port; with `absent`, one image is padding and has a zero gradient."""
    chosen = Choices(**choices)
    module = build(lambda: Penalised(chosen.norm), seed, fresh=fresh)
    weights = functools.partial(convert, choices=chosen, score=score)
    rng = np.random.default_rng(seed)
    shape = (BATCH, CHANNELS, IMAGE, IMAGE)
    present = np.ones(BATCH)
    present[-1] = not absent
    losses = (torch_loss, functools.partial(loss, norm=norm_of_slope))
    return dict(
        module=module,
        fn=functools.partial(apply, choices=chosen),
        params=weights(module.state_dict()),
        inputs=(
            rng.standard_normal(shape),
            rng.standard_normal((BATCH, LATENT)),
            rng.uniform(size=(BATCH, 1, 1, 1)),
            present,
        ),
        weights=weights,
        **(dict(loss=losses) if train else {}),
    )


def plain_norm(x: Any) -> Any:
    return jnp.linalg.norm(x, axis=1)


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "layer_norm": dict(norm="layer"),
    "absent": dict(absent=True),
    "channels_last": dict(channels_last=True, score=for_channels_last),
    "random_cotangent": dict(train=False),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "norm_eps",
        "forward",
        "critic.norm",
        plant=dict(eps=1e-6),
        about="The port uses flax's default epsilon.",
        cause="eps is 1e-06, torch uses 1e-05",
    ),
    Bug(
        "leaky_slope",
        "forward",
        "critic.act",
        plant=dict(slope=0.01),
        about="The port uses JAX's default negative slope.",
        cause=r"negative_slope is 0\.01, torch uses 0\.2",
    ),
    Bug(
        "instance_for_layer",
        "forward",
        "critic.norm",
        plant=dict(axes=(1, 2, 3)),
        about="The port normalises over channels as well.",
        cause="over (dim|axes).*1.*2.*3|over the channels|there is 1 group",
    ),
    Bug(
        "flatten_order",
        "forward",
        ("critic", "critic.score"),  # the flattening, or the layer that reads it
        plant=dict(channels_last=True),
        about="Features are flattened channels last, but the kernel expects channels first.",
        cause="channels are flattened last",
    ),
    Bug(
        "mean_before_slope",
        "forward",
        ("", "loss"),
        plant=dict(of_batch=jnp.mean),
        about="The slope is that of the mean score, which is smaller by the batch size.",
        cause="times 1/3|reduction is mean, torch uses sum",
    ),
    Bug(
        "fake_not_detached",
        "structure",
        "generator.*",
        silent=True,
        plant=dict(stop_fake=identity),
        about="The critic's loss trains the generator.",
        cause=missing_stop(r"detach\(\)", "stop_fake|fake"),
    ),
    Bug(
        "penalty_detached",
        "backward",
        "*",
        silent=True,
        plant=dict(stop_slope=lax.stop_gradient),
        about="As without `create_graph=True`, the penalty has no gradient.",
        cause=extra_stop("stop_slope"),
    ),
    Bug(
        "penalty_with_frozen_weights",
        "backward",
        "*",
        silent=True,
        plant=dict(frozen_slope=True),
        about="The critic's weights are detached inside the penalty.",
        cause=extra_stop("inner = lax"),
    ),
    Bug(
        "statistics_stopped",
        "forward",
        "*",
        plant=dict(stop_statistics=lax.stop_gradient),
        about="The statistics are detached, which changes the slopes that the model returns.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "norm_at_zero",
        "backward",
        "loss",
        silent=True,
        plant=dict(absent=True, norm_of_slope=plain_norm),
        about="The slope of an absent image is zero, and the norm's gradient there is NaN.",
        cause="derivative of sqrt .*is infinite",
    ),
    Bug(
        "norm_with_eps",
        "forward",
        "loss",
        plant=dict(norm_of_slope=lambda x: jnp.sqrt(jnp.sum(x**2, axis=1) + 1e-6)),
        about="An epsilon inside the square root avoids NaN but changes the slopes.",
        cause="1e-06",
    ),
    Bug(
        "penalty_with_frozen_weights_layer_norm",
        "backward",
        "*",
        silent=True,
        plant=dict(norm="layer", frozen_slope=True),
        about="The weights of a layer-norm critic are detached inside the penalty.",
        cause=extra_stop("inner = lax"),
    ),
)
