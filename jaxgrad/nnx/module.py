"""Base class of all layers: training mode, parameters and buffers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike

from jaxgrad._core.typing import Array
from jaxgrad.nnx.init import Initializer, uniform


Dtype = DTypeLike | None  # of parameters; None means float32


class Layer(nnx.Module):
    """Base class of layers; flax's `train()` and `eval()` set `deterministic = not training`."""

    deterministic: bool
    weight: Any  # a variable, None, or the array that a parametrization computes
    bias: Any

    def __init__(self) -> None:
        self.deterministic = False

    @property
    def training(self) -> bool:
        """Whether the layer is in training mode, under torch's name."""
        return not self.deterministic

    def parameter(
        self,
        name: str,
        init: Initializer,
        rngs: nnx.Rngs | None,
        shape: Sequence[int],
        dtype: Dtype,
    ) -> None:
        """Add a parameter, initialised with a key from the `params` stream."""
        key = rngs.params() if rngs is not None else None
        setattr(self, name, nnx.Param(init(key, tuple(shape), dtype or jnp.float32)))

    def drawn_bias(self, bias: bool, rngs: nnx.Rngs, size: int, fan: int, dtype: Dtype) -> None:
        """Add a bias that is uniform between `-1 / sqrt(fan)` and `1 / sqrt(fan)`, or None."""
        if not bias:
            self.absent("bias")
            return
        bound = 1 / math.sqrt(fan) if fan else 0.0
        self.parameter("bias", uniform(-bound, bound), rngs, (size,), dtype)

    def absent(self, *names: str) -> None:
        """Set parameters or buffers that this layer does not have to None, as in torch."""
        for name in names:
            setattr(self, name, nnx.data(None))

    def buffer(self, name: str, x: Array) -> None:
        """Add a buffer: a variable that is not differentiated."""
        setattr(self, name, nnx.BatchStat(x))


def value(variable: Any) -> Any:
    """Return the array of a variable; None and computed arrays are returned unchanged."""
    return variable[...] if isinstance(variable, nnx.Variable) else variable


def needed(rngs: nnx.Rngs | None, name: str) -> nnx.Rngs:
    """Return the keys for parameters, or raise TypeError if there are none."""
    if rngs is None:
        raise TypeError(f"{name} draws its parameters; pass rngs=nnx.Rngs(seed)")
    return rngs


def sizes(x: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Return one size for each spatial dim."""
    return (x,) * count if isinstance(x, int) else tuple(x)
