"""Batch normalisation in train mode, and its port to an nnx module that holds its statistics."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax
from torch import nn
from torch.nn import functional

from jaxgrad.parity import PerSide
from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop


CHANNELS, WIDTH, SIZE, BATCH = 2, 3, 4, 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(CHANNELS, WIDTH, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(WIDTH)
        self.fc = nn.Linear(WIDTH, 2)

    def forward(self, x):
        return self.fc(functional.relu(self.bn(self.conv(x))).mean((2, 3)))


class Choices(NamedTuple):
    """Options of the JAX port; values other than the default are porting mistakes."""

    momentum: float = 0.1
    eps: float = 1e-5
    unbiased: bool = True
    updates: bool = True
    frozen: bool = False
    channels_last: bool = False
    stop_mean: Callable[[Any], Any] = identity
    stop_variance: Callable[[Any], Any] = identity


class BatchNorm(nnx.Module):
    def __init__(self, choices: Choices):
        self.choices = choices
        self.scale = nnx.Param(jnp.ones(WIDTH))
        self.bias = nnx.Param(jnp.zeros(WIDTH))
        self.mean = nnx.BatchStat(jnp.zeros(WIDTH))
        self.var = nnx.BatchStat(jnp.ones(WIDTH))

    def __call__(self, x: Any) -> Any:
        c = self.choices
        mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
        if c.updates:
            n = x.size // WIDTH
            spread = variance * n / (n - 1) if c.unbiased else variance
            keep = 1 - c.momentum
            self.mean[...] = keep * self.mean[...] + c.momentum * lax.stop_gradient(mean)
            self.var[...] = keep * self.var[...] + c.momentum * lax.stop_gradient(spread)
        if c.frozen:
            mean, variance = self.mean[...], self.var[...]
        mean, variance = c.stop_mean(mean), c.stop_variance(variance)
        return (x - mean) * lax.rsqrt(variance + c.eps) * self.scale[...] + self.bias[...]


class Port(nnx.Module):
    def __init__(self, choices: Choices, rngs: nnx.Rngs):
        self.channels_last = choices.channels_last
        self.conv = nnx.Conv(CHANNELS, WIDTH, (3, 3), padding=1, use_bias=False, rngs=rngs)
        self.bn = BatchNorm(choices)
        self.fc = nnx.Linear(WIDTH, 2, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = x if self.channels_last else jnp.moveaxis(x, 1, -1)
        return self.fc(jnp.mean(nnx.relu(self.bn(self.conv(x))), (1, 2)))


def convert(state: Any, *, model: Port) -> Any:
    """Return the weights and statistics as the state of the model."""
    w = arrays(state)
    pure = {
        "conv": {"kernel": jnp.transpose(w["conv.weight"], (2, 3, 1, 0))},
        "bn": {
            "scale": w["bn.weight"],
            "bias": w["bn.bias"],
            "mean": w["bn.running_mean"],
            "var": w["bn.running_var"],
        },
        "fc": dense(w, "fc"),
    }
    params = nnx.state(model)
    nnx.replace_by_pure_dict(params, pure)
    return params


def pair(seed: int = 0, **choices: Any) -> dict[str, Any]:
    """Return the network in train mode and its port; `channels_last` gives each its layout."""
    module = build(Net, seed).train()
    model = Port(Choices(**choices), nnx.Rngs(0))
    nnx.update(model, convert(module.state_dict(), model=model))
    x = np.random.default_rng(seed).standard_normal((BATCH, CHANNELS, SIZE, SIZE))
    inputs: Any = (x,)
    if model.channels_last:
        inputs = PerSide(torch=(x,), jax=(np.moveaxis(x, 1, -1),))
    return dict(
        module=module,
        fn=model,
        params=None,
        inputs=inputs,
        converter=functools.partial(convert, model=model),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "channels_last": dict(channels_last=True),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "eps",
        "forward",
        "bn",
        plant=dict(eps=1e-3),
        about="Keras's eps of 1e-3 is kept.",
        cause=r"eps is 0\.001, torch uses 1e-05",
    ),
    Bug(
        "running_statistics_used",
        "forward",
        "bn",
        plant=dict(frozen=True),
        about="The running statistics normalise in train mode.",
        cause="normalises with the running statistics",
    ),
    Bug(
        "momentum_sense",
        "updates",
        "bn.running_*",
        silent=True,
        plant=dict(momentum=0.9),
        about="The momentum is that of the old value, as in flax.",
        cause=r"momentum is inverted|momentum is 0\.9, torch uses 0\.1",
    ),
    Bug(
        "momentum_default",
        "updates",
        "bn.running_*",
        silent=True,
        plant=dict(momentum=0.01),
        about="flax's default momentum of 0.99 is kept.",
        cause=r"momentum is 0\.01, torch uses 0\.1",
    ),
    Bug(
        "biased_running_variance",
        "updates",
        "bn.running_var",
        silent=True,
        plant=dict(unbiased=False),
        about="The running variance is biased, as in flax.",
        cause=r"variance is divided by N\b",
    ),
    Bug(
        "statistics_not_updated",
        "updates",
        "bn.running_*",
        silent=True,
        plant=dict(updates=False),
        about="The running statistics never move.",
        cause="not updated|never chang|momentum is 0,",
    ),
    Bug(
        "mean_stopped",
        "backward",
        "bn",
        silent=True,
        plant=dict(stop_mean=lax.stop_gradient),
        about="The mean of the batch is detached.",
        cause=extra_stop("stop_mean"),
    ),
    Bug(
        "variance_stopped",
        "backward",
        "bn",
        silent=True,
        plant=dict(stop_variance=lax.stop_gradient),
        about="The variance of the batch is detached.",
        cause=extra_stop("stop_variance"),
    ),
    Bug(
        "variance_stopped_channels_last",
        "backward",
        "bn",
        silent=True,
        plant=dict(channels_last=True, stop_variance=lax.stop_gradient),
        about="The variance is detached; the port takes images with channels last.",
        cause=extra_stop("stop_variance"),
    ),
)
