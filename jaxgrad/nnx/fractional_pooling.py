"""Fractional max pooling, which draws the places of its windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, Sizes, stream, value


class _FractionalMaxPool(Layer):
    """Base class of fractional max pooling, which draws the windows in eval mode too."""

    _fun: Callable[..., Any]
    _ndim: int
    _random_samples: Any
    rngs: Any

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Array | None = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        _check_fractional(output_size, output_ratio, self._ndim, type(self).__name__)
        self.kernel_size, self.output_size = kernel_size, output_size
        ratio = (output_ratio,) * self._ndim if isinstance(output_ratio, float) else output_ratio
        self.output_ratio, self.return_indices = ratio, return_indices
        self.buffer("_random_samples", _random_samples)
        self.rngs = stream(rngs, type(self).__name__)

    def __call__(self, input: Array, *, key: Array | None = None) -> Any:
        if key is None and self._random_samples is None and self.rngs is not None:
            key = self.rngs()
        return self._fun(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            value(self._random_samples), key=key,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maximum of windows at random places of `(N, C, H, W)`.

    Args:
        kernel_size: Size of a window.
        output_size: Number of windows along each spatial dim.
        output_ratio: That number, relative to the size of the input.
        return_indices: Whether to return the indices of the maxima too.
        rngs: Keys, whose `dropout` stream is forked; if None, every call needs `key=`.

    Raises:
        ValueError: Neither or both of `output_size` and `output_ratio` are set, or the ratio is
            not between 0 and 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = FractionalMaxPool2d(2, 2, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((1, 1, 4, 4), "float32")).shape)
        (1, 1, 2, 2)

    Torch: `torch.nn.FractionalMaxPool2d`.
    """

    _fun = staticmethod(functional.fractional_max_pool2d)
    _ndim = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maximum of windows at random places of `(N, C, D, H, W)`; see `FractionalMaxPool2d`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = FractionalMaxPool3d(2, 2, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((1, 1, 4, 4, 4), "float32")).shape)
        (1, 1, 2, 2, 2)

    Torch: `torch.nn.FractionalMaxPool3d`.
    """

    _fun = staticmethod(functional.fractional_max_pool3d)
    _ndim = 3


def _check_fractional(size: Any, ratio: Any, ndim: int, name: str) -> None:
    """Raise torch's error unless exactly one of both arguments is set and usable."""
    if size is None and ratio is None:
        raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
    if size is not None and ratio is not None:
        raise ValueError("only one of output_size and output_ratio may be specified")
    if ratio is None:
        return
    ratios = tuple(ratio) if isinstance(ratio, Sequence) else (ratio,) * ndim
    if not all(0 < r < 1 for r in ratios):
        raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")
