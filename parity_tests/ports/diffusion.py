"""A small U-Net trained on v-prediction with self-conditioning, and its port to linen (NHWC)."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from flax import linen
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


CHANNELS, WIDTH, SIZE, BATCH, EMBEDDING = 2, 4, 4, 2, 4


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time1 = nn.Linear(EMBEDDING, WIDTH)
        self.time2 = nn.Linear(WIDTH, 2 * WIDTH)
        self.conv_in = nn.Conv2d(2 * CHANNELS, WIDTH, 3, padding=1)
        self.norm = nn.GroupNorm(2, WIDTH)
        self.down = nn.Conv2d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.up = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.conv_out = nn.Conv2d(2 * WIDTH, CHANNELS, 1)

    def forward(self, x, t, condition):
        frequencies = torch.exp(-math.log(10000.0) * torch.arange(2, dtype=x.dtype) / 2)
        angles = t[:, None] * frequencies
        embedding = torch.cat([angles.sin(), angles.cos()], -1)
        embedding = self.time2(functional.silu(self.time1(embedding)))
        scale, shift = embedding[..., None, None].chunk(2, 1)
        skip = self.conv_in(torch.cat([x, condition], 1))
        h = functional.silu(self.norm(skip) * (1 + scale) + shift)
        h = functional.silu(self.down(h))
        h = self.up(functional.interpolate(h, scale_factor=2, mode="nearest"))
        return self.conv_out(torch.cat([h, skip], 1))


class Diffusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = UNet()

    def forward(self, image, noise, t):
        alpha, sigma = (f(0.5 * math.pi * t)[:, None, None, None] for f in (torch.cos, torch.sin))
        noised = alpha * image + sigma * noise
        v = self.net(noised, t, torch.zeros_like(image))
        guess = (alpha * noised - sigma * v).detach()
        v = self.net(noised, t, guess)
        error = (v - (alpha * noise - sigma * image)).square().mean((1, 2, 3))
        weight = (alpha / sigma).square().flatten().clamp(max=5.0)
        return (weight * error).mean()


class Net(linen.Module):
    """The U-Net in JAX; options other than the default are porting mistakes."""

    eps: float = 1e-5
    first: Any = jnp.sin
    order: int = 1
    padding: Any = ((1, 1), (1, 1))
    method: str = "nearest"
    stop_time: Callable[[Any], Any] = identity
    stop_skip: Callable[[Any], Any] = identity
    stop_scale: Callable[[Any], Any] = identity

    @linen.compact
    def __call__(self, x: Any, t: Any, condition: Any) -> Any:
        angles = t[:, None] * jnp.exp(-math.log(10000.0) * jnp.arange(2) / 2)
        second = jnp.cos if self.first is jnp.sin else jnp.sin
        embedding = jnp.concatenate([self.first(angles), second(angles)], -1)
        embedding = linen.silu(linen.Dense(WIDTH, name="time1")(embedding))
        embedding = self.stop_time(linen.Dense(2 * WIDTH, name="time2")(embedding))
        scale, shift = jnp.split(embedding[:, None, None], 2, -1)
        stem = linen.Conv(WIDTH, (3, 3), padding=1, name="conv_in")
        skip = stem(jnp.concatenate([x, condition], -1))
        h = linen.GroupNorm(2, epsilon=self.eps, name="norm")(skip)
        h = linen.silu(h * (1 + self.stop_scale(scale)) + shift)
        h = linen.Conv(WIDTH, (3, 3), (2, 2), padding=self.padding, name="down")(h)
        h = linen.silu(h)
        h = jax.image.resize(h, (*skip.shape[:3], WIDTH), self.method)
        h = linen.Conv(WIDTH, (3, 3), padding=1, name="up")(h)
        joined = jnp.concatenate([h, self.stop_skip(skip)][:: self.order], -1)
        return linen.Conv(CHANNELS, (1, 1), name="conv_out")(joined)


def convert(state: Any) -> Any:
    """Return the variables of a `Net`."""
    w = arrays(state)
    params: dict[str, Any] = {}
    for name in sorted({name.split(".")[1] for name in w}):
        weight, bias = w[f"net.{name}.weight"], w[f"net.{name}.bias"]
        axes = (2, 3, 1, 0) if weight.ndim == 4 else None
        key = "scale" if weight.ndim == 1 else "kernel"
        params[name] = {key: jnp.transpose(weight, axes), "bias": bias}
    return {"params": params}


def pair(
    seed: int = 0,
    *,
    sign: float = 1.0,
    bounded: bool = True,
    stop_guess: Callable[[Any], Any] = lax.stop_gradient,
    **options: Any,
) -> dict[str, Any]:
    """Return the diffusion loss and its port, whose images are NHWC inside."""
    module, net = build(Diffusion, seed), Net(**options)
    rng = np.random.default_rng(seed)

    def apply(params: Any, image: Any, noise: Any, t: Any) -> Any:
        image, noise = jnp.moveaxis(image, 1, -1), jnp.moveaxis(noise, 1, -1)
        angle = 0.5 * jnp.pi * t[:, None, None, None]
        alpha, sigma = jnp.cos(angle), jnp.sin(angle)
        noised = alpha * image + sigma * noise
        v = net.apply(params, noised, t, jnp.zeros_like(image))
        v = net.apply(params, noised, t, stop_guess(alpha * noised - sigma * v))
        error = jnp.mean((v - (alpha * noise - sign * sigma * image)) ** 2, (1, 2, 3))
        weight = jnp.ravel((alpha / sigma) ** 2)
        return jnp.mean((jnp.minimum(weight, 5.0) if bounded else weight) * error)

    images = (rng.standard_normal((BATCH, CHANNELS, SIZE, SIZE)) for _ in range(2))
    return dict(
        module=module,
        fn=apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(*images, np.array([0.2, 0.7])),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "group_norm_eps",
        "forward",
        "net.norm",
        plant=dict(eps=1e-6),
        about="flax's default eps of 1e-6 is kept.",
        cause="eps is 1e-06, torch uses 1e-05",
    ),
    Bug(
        "cosines_first",
        "forward",
        "net*",
        plant=dict(first=jnp.cos),
        about="The time embedding starts with the cosines.",
        cause="operands of cat are in another order: 1, 0",
    ),
    Bug(
        "skip_first",
        "forward",
        "net*",
        plant=dict(order=-1),
        about="The skip connection is concatenated first.",
        cause="operands of cat are in another order: 1, 0",
    ),
    Bug(
        "same_padding",
        "forward",
        "net.down",
        plant=dict(padding="SAME"),
        about="The strided convolution pads with SAME.",
        cause="padding is 'SAME'",
    ),
    Bug(
        "bilinear",
        "forward",
        "net*",
        plant=dict(method="bilinear"),
        about="The upsampling is bilinear.",
        cause="bilinear",
    ),
    Bug(
        "v_sign",
        "forward",
        "",
        plant=dict(sign=-1.0),
        about="The image has the wrong sign in the target of v-prediction.",
        cause="sign of torch's mul is flipped|JAX adds, torch subtracts",
    ),
    Bug(
        "weight_not_bounded",
        "forward",
        "",
        plant=dict(bounded=False),
        about="The signal-to-noise ratio is not clipped.",
        cause="torch's clamp is missing|clamp has no",
    ),
    Bug(
        "guess_not_detached",
        "backward",
        "",
        silent=True,
        plant=dict(stop_guess=identity),
        about="The self-conditioning trains the first pass.",
        cause=missing_stop("guess = ", "stop_guess"),
    ),
    Bug(
        "time_stopped",
        "structure",
        "net.time*",
        silent=True,
        plant=dict(stop_time=lax.stop_gradient),
        about="The time embedding never trains.",
        cause=extra_stop("stop_time"),
    ),
    Bug(
        "scale_stopped",
        "backward",
        "net*",
        silent=True,
        plant=dict(stop_scale=lax.stop_gradient),
        about="The scale by the time embedding is detached; the shift is not.",
        cause=extra_stop("stop_scale"),
    ),
    Bug(
        "skip_stopped",
        "backward",
        "net*",
        silent=True,
        plant=dict(stop_skip=lax.stop_gradient),
        about="The skip connection is detached.",
        cause=extra_stop("stop_skip"),
    ),
)
