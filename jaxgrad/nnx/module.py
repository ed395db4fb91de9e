"""Base class of all layers: training mode, parameters and buffers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike

from jaxgrad._core import argument_names
from jaxgrad._core.typing import Array
from jaxgrad.nnx.init import Initializer, uniform


Dtype = DTypeLike | None  # of parameters; None means float32
Sizes = int | Sequence[int]  # one size for each spatial dim, or one for all


class Layer(nnx.Module):
    """Base class of layers; flax's `train()` and `eval()` set `deterministic = not training`."""

    deterministic: bool
    weight: Any  # a variable, None, or the array that a parametrization computes
    bias: Any
    rngs: Any  # the stream of keys of a layer that draws

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = argument_names.checked(cls.__init__)

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
        """Add a parameter, initialised with a key from the `params` stream.

        Raises:
            TypeError: A size is not an int.
            RuntimeError: A size is negative.
        """
        layer, shape = type(self).__name__, tuple(shape)
        if not all(hasattr(n, "__index__") for n in shape):
            raise TypeError(f"{layer}: sizes must be ints, but {name} would have the shape {shape}")
        if any(n < 0 for n in shape):
            raise RuntimeError(
                f"{layer}: trying to create a {name} with a negative dimension: {list(shape)}"
            )
        key = rngs.params() if rngs is not None else None
        setattr(self, name, nnx.Param(init(key, shape, dtype or jnp.float32)))

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

    def buffer(self, name: str, x: Array | None) -> None:
        """Add a buffer: a variable that is not differentiated, or None."""
        setattr(self, name, nnx.data(None) if x is None else nnx.BatchStat(jnp.asarray(x)))


class Elementwise(Layer):
    """Base class of layers that apply one function without settings."""

    _fun: Callable[[Array], Array]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        new_array(inplace, self)

    def __call__(self, input: Array) -> Array:
        return self._fun(input)


def value(variable: Any) -> Any:
    """Return the array of a variable; None and computed arrays are returned unchanged."""
    return variable[...] if isinstance(variable, nnx.Variable) else variable


def needed(rngs: nnx.Rngs | None, name: str) -> nnx.Rngs:
    """Return the keys for parameters, or raise TypeError if there are none."""
    if rngs is None:
        raise TypeError(f"{name} draws its parameters; pass rngs=nnx.Rngs(seed)")
    return _keys(rngs, name)


def stream(rngs: nnx.Rngs | None, name: str) -> Any:
    """Return a fork of the `dropout` stream for the calls of a layer, or None."""
    return nnx.data(None) if rngs is None else _keys(rngs, name).dropout.fork()


def _keys(rngs: Any, name: str) -> nnx.Rngs:
    """Return the keys, or raise TypeError if they are a seed or something else."""
    if isinstance(rngs, nnx.Rngs):
        return rngs
    if isinstance(rngs, int):
        raise TypeError(f"{name}: rngs={rngs} is a seed; pass rngs=nnx.Rngs({rngs})")
    raise TypeError(f"{name}: rngs must be an nnx.Rngs, but got {type(rngs).__name__}")


def new_array(inplace: bool, layer: Layer) -> None:
    """Raise ValueError if a layer should write to its input."""
    if inplace:
        raise ValueError(
            f"{type(layer).__name__}(inplace=True): JAX arrays are immutable. Leave inplace out, "
            "and use the returned array wherever torch's code uses the input after this call"
        )


def sizes(x: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Return one size for each spatial dim."""
    return tuple(x) if isinstance(x, Sequence) else (operator.index(x),) * count
