"""What every layer has: training or not, parameters, buffers, a stream of keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from flax import nnx

from jaxgrad._core.typing import Array
from jaxgrad.nnx import init


Initializer = Callable[..., Array]


class Layer(nnx.Module):
    """A layer. `train()` and `eval()` of flax set `deterministic`, which is `not training`."""

    deterministic: bool
    weight: Any  # of most layers: a variable, None, or what a parametrization computes
    bias: Any

    def __init__(self) -> None:
        self.deterministic = False

    @property
    def training(self) -> bool:
        """As torch calls it."""
        return not self.deterministic

    def parameter(
        self, name: str, init: Initializer, rngs: nnx.Rngs | None, shape: Any, dtype: Any
    ) -> None:
        """A parameter under torch's name, drawn from the stream `params`."""
        key = rngs.params() if rngs is not None else None
        setattr(self, name, nnx.Param(init(key, tuple(shape), dtype or jnp.float32)))

    def drawn_bias(self, bias: bool, rngs: nnx.Rngs, size: int, fan: int, dtype: Any) -> None:
        """A bias between `-1 / sqrt(fan)` and `1 / sqrt(fan)`, or None."""
        if not bias:
            self.absent("bias")
            return
        bound = 1 / math.sqrt(fan) if fan else 0.0
        self.parameter("bias", init.uniform(-bound, bound), rngs, (size,), dtype)

    def absent(self, *names: str) -> None:
        """Parameters and buffers that this layer was made without: None, as in torch."""
        for name in names:
            setattr(self, name, nnx.data(None))

    def buffer(self, name: str, x: Array) -> None:
        """A state that no gradient is taken by."""
        setattr(self, name, nnx.BatchStat(x))


def value(variable: Any) -> Any:
    """The array of a variable; None stays None, and what a parametrization made is one already."""
    return variable[...] if isinstance(variable, nnx.Variable) else variable


def needed(rngs: nnx.Rngs | None, name: str) -> nnx.Rngs:
    """The keys for parameters.

    Raises:
        TypeError: There are none.
    """
    if rngs is None:
        raise TypeError(f"{name} draws its parameters; pass rngs=nnx.Rngs(seed)")
    return rngs


def sizes(x: Any, count: int) -> tuple[int, ...]:
    """A size for each dim."""
    return (x,) * count if isinstance(x, int) else tuple(x)
