"""Dropout layers, which draw keys from a stream forked from the model's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, new_array, stream


class Dropout(Layer):
    """In training, zero each element with probability p and divide the others by 1 - p.

    Args:
        p: Probability of zeroing an element.
        inplace: Must be False.
        rngs: Keys, whose `dropout` stream is forked; if None, every call needs `key=`.

    Raises:
        ValueError: `p` is not a probability, `inplace` is set, or a training call has no key.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> y = Dropout(0.25, rngs=nnx.Rngs(0))(jnp.ones(1000, "float32"))
        >>> print(f"{y.max():.3f} {y.min():.0f}")
        1.333 0

    Torch: `torch.nn.Dropout`.
    """

    _fun: Callable[..., Array] = staticmethod(functional.dropout)
    rngs: Any

    def __init__(
        self, p: float = 0.5, inplace: bool = False, *, rngs: nnx.Rngs | None = None
    ) -> None:
        super().__init__()
        new_array(inplace, self)
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.rngs = stream(rngs, type(self).__name__)

    def __call__(self, input: Array, *, key: Array | None = None) -> Array:
        return self._fun(input, self.p, self.training, key=_next_key(self, key))


class Dropout1d(Dropout):
    """Dropout of whole channels of `(N, C, L)`; the arguments are those of `Dropout`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> y = Dropout1d(rngs=nnx.Rngs(0))(jnp.ones((1, 4, 2), "float32"))
        >>> print((y[..., 0] == y[..., 1]).all())
        True

    Torch: `torch.nn.Dropout1d`.
    """

    _fun = staticmethod(functional.dropout1d)


class Dropout2d(Dropout):
    """Dropout of whole channels of `(N, C, H, W)`; the arguments are those of `Dropout`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Dropout2d(0.0)(jnp.ones((1, 4, 2, 2), "float32")).shape)
        (1, 4, 2, 2)

    Torch: `torch.nn.Dropout2d`.
    """

    _fun = staticmethod(functional.dropout2d)


class Dropout3d(Dropout):
    """Dropout of whole channels of `(N, C, D, H, W)`; the arguments are those of `Dropout`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Dropout3d(0.0)(jnp.ones((1, 4, 2, 2, 2), "float32")).shape)
        (1, 4, 2, 2, 2)

    Torch: `torch.nn.Dropout3d`.
    """

    _fun = staticmethod(functional.dropout3d)


class AlphaDropout(Dropout):
    """Dropout that keeps mean and variance after SELU; the arguments are those of `Dropout`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AlphaDropout(0.0)(jnp.ones(2, "float32")))
        [1. 1.]

    Torch: `torch.nn.AlphaDropout`.
    """

    _fun = staticmethod(functional.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """`AlphaDropout` of whole channels; the arguments are those of `Dropout`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(FeatureAlphaDropout(0.0)(jnp.ones((1, 2, 3), "float32")).shape)
        (1, 2, 3)

    Torch: `torch.nn.FeatureAlphaDropout`.
    """

    _fun = staticmethod(functional.feature_alpha_dropout)


def _next_key(layer: Dropout, key: Array | None) -> Array | None:
    """Return the key of the call, or else the next key of the layer's stream if one is needed."""
    if key is not None or not layer.training or layer.rngs is None or layer.p in (0, 1):
        return key
    return layer.rngs()
