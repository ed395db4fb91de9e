"""Dropout as in torch, with the mask drawn from a `jax.random` key."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, is_floating


_ALPHA = 1.7580993408473766  # minus SELU's limit at minus infinity


def dropout(
    input: jax.Array, p: float = 0.5, training: bool = True, *, key: jax.Array | None = None
) -> jax.Array:
    """Zero each element with probability `p` and divide the others by `1 - p`.

    Args:
        input: Array of any shape.
        p: Probability of zeroing an element.
        training: Whether to drop elements; if false, the input is returned unchanged.
        key: A `jax.random` key, required if a mask is drawn.

    Raises:
        ValueError: `p` is not in [0, 1], or the key is missing.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> y = dropout(jnp.ones(1000), 0.25, key=jax.random.key(0))
        >>> print(f"{y.max():.3f} {y.min():.0f}")
        1.333 0

    Torch: `torch.nn.functional.dropout`.

    Differs from jax in:
        1. The input is multiplied by a mask, so that a dropped infinity is NaN (flax's Dropout: 0).
    """
    return _dropped("dropout", array(input), p, training, key, jnp.shape(input))


def dropout1d(
    input: jax.Array, p: float = 0.5, training: bool = True, *, key: jax.Array | None = None
) -> jax.Array:
    """Drop whole channels of an input `(N, C, L)` or `(C, L)`; see `dropout`.

    Raises:
        RuntimeError: The input does not have two or three dims.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> y = dropout1d(jnp.ones((1, 4, 2)), key=jax.random.key(0))
        >>> print((y[..., 0] == y[..., 1]).all())
        True

    Torch: `torch.nn.functional.dropout1d`.
    """
    return _channels_dropped("dropout1d", array(input), p, training, key, 1)


def dropout2d(
    input: jax.Array, p: float = 0.5, training: bool = True, *, key: jax.Array | None = None
) -> jax.Array:
    """Drop whole channels of an input `(N, C, H, W)`; a 3-D input is `(N, C, L)`; see `dropout`.

    Raises:
        RuntimeError: The input has fewer than two dims.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> y = dropout2d(jnp.ones((1, 4, 1, 2)), key=jax.random.key(0))
        >>> print((y[..., 0] == y[..., 1]).all())
        True

    Torch: `torch.nn.functional.dropout2d`.
    """
    return _channels_dropped("dropout2d", array(input), p, training, key, 2)


def dropout3d(
    input: jax.Array, p: float = 0.5, training: bool = True, *, key: jax.Array | None = None
) -> jax.Array:
    """Drop whole channels of an input `(N, C, D, H, W)` or `(C, D, H, W)`; see `dropout`.

    Raises:
        RuntimeError: The input has fewer than two dims.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> y = dropout3d(jnp.ones((4, 1, 1, 2)), key=jax.random.key(0))
        >>> print((y[..., 0] == y[..., 1]).all())
        True

    Torch: `torch.nn.functional.dropout3d`.
    """
    return _channels_dropped("dropout3d", array(input), p, training, key, 3)


def alpha_dropout(
    input: jax.Array, p: float = 0.5, training: bool = False, *, key: jax.Array | None = None
) -> jax.Array:
    """Replace dropped elements by SELU's lower limit to keep mean 0 and variance 1; see `dropout`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(alpha_dropout(jnp.ones(2)))
        [1. 1.]

    Torch: `torch.nn.functional.alpha_dropout`.
    """
    return _dropped("alpha_dropout", array(input), p, training, key, jnp.shape(input), alpha=True)


def feature_alpha_dropout(
    input: jax.Array, p: float = 0.5, training: bool = False, *, key: jax.Array | None = None
) -> jax.Array:
    """Apply `alpha_dropout` to whole channels of an input `(N, C, ...)`.

    Raises:
        RuntimeError: The input has fewer than two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(feature_alpha_dropout(jnp.ones((1, 2))))
        [[1. 1.]]

    Torch: `torch.nn.functional.feature_alpha_dropout`.
    """
    input = array(input)
    shape = _feature_shape(input, p, training)
    return _dropped("feature_alpha_dropout", input, p, training, key, shape, alpha=True)


def _channels_dropped(
    name: str, input: jax.Array, p: float, training: bool, key: jax.Array | None, spatial: int
) -> jax.Array:
    if not 0 <= p <= 1:
        _reject_probability(p)
    if spatial == 1 and input.ndim not in (2, 3):
        raise RuntimeError(
            f"{name}: Expected 2D or 3D input, but received a {input.ndim}D input; reshape it to "
            "(N, C, L)"
        )
    unbatched = spatial != 2 and input.ndim == spatial + 1
    wide = input[None] if unbatched else input
    shape = _feature_shape(wide, p, training)
    out = _dropped(name, wide, p, training, key, shape)
    return out[0] if unbatched else out


def _feature_shape(input: jax.Array, p: float, training: bool) -> tuple[int, ...]:
    if input.ndim < 2 and training and p not in (0, 1):
        raise RuntimeError(
            "Feature dropout requires at least 2 dimensions in the input, it has the shape "
            f"{list(input.shape)}"
        )
    return input.shape[:2] + (1,) * (input.ndim - 2)


def _dropped(
    name: str,
    input: jax.Array,
    p: float,
    training: bool,
    key: jax.Array | None,
    shape: tuple[int, ...],
    *,
    alpha: bool = False,
) -> jax.Array:
    if not 0 <= p <= 1:
        _reject_probability(p)
    if not training or p == 0 or not input.size:
        return input
    if not is_floating(input):
        raise RuntimeError(
            f"{name}: result type float can't be cast to the desired output type {input.dtype}; "
            "convert the input to a float"
        )
    if p == 1:
        return input * jnp.zeros((), input.dtype)
    if key is None:
        raise ValueError(f"{name} draws a mask when training; pass key=jax.random.key(...)")
    kept = jax.random.bernoulli(key, 1 - p, shape).astype(input.dtype)
    if not alpha:
        return input * (kept / jnp.asarray(1 - p, input.dtype))
    scale = 1 / ((_ALPHA**2 * p + 1) * (1 - p)) ** 0.5
    shift = (kept - 1) * (_ALPHA * scale) + _ALPHA * scale * p
    return input * (kept * scale) + shift


def _reject_probability(p: float) -> None:
    raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
