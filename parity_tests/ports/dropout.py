"""A residual block with dropout in train mode, and its port to an nnx module with a key."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop


WIDTH, HIDDEN, BATCH, RATE = 4, 5, 6, 0.3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.drop = nn.Dropout(RATE)
        self.down = nn.Linear(HIDDEN, WIDTH)
        self.out_drop = nn.Dropout(0.5)

    def forward(self, x):
        h = self.drop(functional.gelu(self.up(x)))
        return x + self.out_drop(self.down(h))


class Choices(NamedTuple):
    """Options of the JAX port; values other than the default are porting mistakes."""

    rate: float = RATE
    rescale: bool = True
    before: bool = False  # the mask is applied before the activation
    second: bool = True
    shape: Callable[[Any], Any] = lambda x: x.shape
    straight: bool = False
    stop: Callable[[Any], Any] = identity


class Port(nnx.Module):
    def __init__(self, choices: Choices, rngs: nnx.Rngs):
        self.choices = choices
        self.up = nnx.Linear(WIDTH, HIDDEN, rngs=rngs)
        self.down = nnx.Linear(HIDDEN, WIDTH, rngs=rngs)
        self.out_drop = nnx.Dropout(0.5, rngs=rngs)
        self.rngs = rngs

    def drop(self, x: Any) -> Any:
        c = self.choices
        keep = jax.random.bernoulli(self.rngs.dropout(), 1 - c.rate, c.shape(x))
        dropped = jnp.where(keep, x / (1 - c.rate) if c.rescale else x, 0)
        return x + lax.stop_gradient(dropped - x) if c.straight else dropped

    def __call__(self, x: Any) -> Any:
        c = self.choices
        h = self.up(x)
        h = nnx.gelu(self.drop(h) if c.before else h, approximate=False)
        h = self.down(c.stop(h) if c.before else self.drop(c.stop(h)))
        return x + (self.out_drop(h) if c.second else h)


def convert(state: Any, *, model: Port) -> Any:
    """Return the weights as the state of the model."""
    w = arrays(state)
    pure = {name: dense(w, name) for name in ("up", "down")}
    params = nnx.state(model, nnx.Param)
    nnx.replace_by_pure_dict(params, pure)
    return params


def pair(seed: int = 0, *, train: bool = True, **choices: Any) -> dict[str, Any]:
    """Return the block and its port, a module that holds its weights and its keys."""
    module = build(Block, seed).train(train)
    model = Port(Choices(**choices), nnx.Rngs(0, dropout=1))
    nnx.update(model, convert(module.state_dict(), model=model))
    inputs = (np.random.default_rng(seed).standard_normal((BATCH, WIDTH)),)
    return dict(
        module=module,
        fn=model,
        params=None,
        inputs=inputs,
        converter=functools.partial(convert, model=model),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "rate_of_the_other",
        "forward",
        "drop",
        plant=dict(rate=0.5),
        about="The dropout rate differs.",
        cause=r"dropout rate is 0\.5, torch uses 0\.3",
    ),
    Bug(
        "rate_is_keep",
        "forward",
        "drop",
        plant=dict(rate=1 - RATE),
        about="The rate is taken for the probability to keep a value.",
        cause=r"dropout rate is 0\.7",
    ),
    Bug(
        "not_rescaled",
        "forward",
        "drop",
        plant=dict(rescale=False),
        about="The kept values are not rescaled.",
        cause=r"not divided by 1 - 0\.3",
    ),
    Bug(
        "dropped_before_gelu",
        "forward",
        ("", "drop"),
        plant=dict(before=True),
        about="The dropout acts before the activation.",
        cause="dropout comes before gelu|gelu comes after",
    ),
    Bug(
        "second_missing",
        "forward",
        "out_drop",
        plant=dict(second=False),
        about="The second dropout is missing.",
        cause="torch's dropout is missing",
    ),
    Bug(
        "mask_per_sample",
        "forward",
        "drop",
        plant=dict(shape=lambda x: (x.shape[0], 1)),
        about="A sample is dropped as a whole, as in stochastic depth.",
        cause=r"mask has the shape \[6, 1\]",
    ),
    Bug(
        "straight_through",
        "backward",
        "drop",
        silent=True,
        plant=dict(straight=True),
        about="Dropped values pass their gradient.",
        cause=extra_stop(r"c\.straight"),
    ),
    Bug(
        "branch_stopped",
        "structure",
        "up.*",
        silent=True,
        plant=dict(stop=lax.stop_gradient),
        about="The first layer never trains.",
        cause=extra_stop(r"c\.stop\("),
    ),
)
