"""torch's initialisers, with its names, arguments and defaults.

Each function returns an initialiser `(key, shape, dtype) -> array`, as in `jax.nn.initializers`.
`jax.random` draws the numbers, so the distribution is torch's but the samples are not.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxgrad._core.typing import Array


Initializer = Callable[..., Array]

_UNIT_GAIN = ("linear", "conv1d", "conv2d", "conv3d", "sigmoid")
_TRANSPOSED = ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the gain that preserves the variance through a nonlinearity.

    Args:
        nonlinearity: Name of the nonlinearity in torch.
        param: Negative slope of "leaky_relu"; None means 0.01.

    Raises:
        ValueError: The nonlinearity is unknown, or the slope is not a number.

    Example:
        >>> print(f"{calculate_gain('tanh'):.4f} {calculate_gain('leaky_relu', 1):.4f}")
        1.6667 1.0000

    Torch: `torch.nn.init.calculate_gain`.
    """
    if nonlinearity in (*_UNIT_GAIN, *_TRANSPOSED):
        return 1
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, int | float | None):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def constant(val: float) -> Initializer:
    """Return an initialiser that fills an array with `val`.

    Example:
        >>> print(constant(2.0)(None, (2,)))
        [2. 2.]

    Torch: `torch.nn.init.constant_`.
    """

    def initializer(_: Any, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Array:
        return jnp.full(shape, val, dtype)

    return initializer


def zeros() -> Initializer:
    """Return an initialiser that fills an array with zeros.

    Example:
        >>> print(zeros()(None, (2,)))
        [0. 0.]

    Torch: `torch.nn.init.zeros_`.
    """
    return constant(0.0)


def ones() -> Initializer:
    """Return an initialiser that fills an array with ones.

    Example:
        >>> print(ones()(None, (2,)))
        [1. 1.]

    Torch: `torch.nn.init.ones_`.
    """
    return constant(1.0)


def eye() -> Initializer:
    """Return an initialiser of identity matrices.

    Raises:
        ValueError: The shape does not have two dims.

    Example:
        >>> print(eye()(None, (1, 2)))
        [[1. 0.]]

    Torch: `torch.nn.init.eye_`.
    """

    def initializer(_: Any, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Array:
        _require_two_dims(shape)
        return jnp.eye(*shape, dtype=dtype)

    return initializer


def dirac(groups: int = 1) -> Initializer:
    """Return an initialiser of kernels that copy as many input channels as possible.

    Raises:
        ValueError: The shape does not have 3 to 5 dims, or `groups` does not divide its first dim.

    Example:
        >>> print(dirac()(None, (1, 1, 3)))
        [[[0. 1. 0.]]]

    Torch: `torch.nn.init.dirac_`.
    """

    def initializer(_: Any, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Array:
        if len(shape) not in (3, 4, 5):
            raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
        if shape[0] % groups:
            raise ValueError(f"dim 0 must be divisible by groups: got {shape[0]} and {groups}")
        kernel = np.zeros(shape)
        outputs = shape[0] // groups  # per group
        for channel in range(shape[0]):
            if channel % outputs < shape[1]:
                kernel[(channel, channel % outputs, *(n // 2 for n in shape[2:]))] = 1
        return jnp.asarray(kernel, dtype)

    return initializer


def uniform(a: float = 0.0, b: float = 1.0) -> Initializer:
    """Return an initialiser that is uniform on `[a, b)`.

    Example:
        >>> import jax
        >>> x = uniform(2.0, 3.0)(jax.random.key(0), (100,))
        >>> print(x.min() >= 2, x.max() < 3)
        True True

    Torch: `torch.nn.init.uniform_`.
    """

    def initializer(key: Array, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Array:
        return jax.random.uniform(key, tuple(shape), dtype, a, b)

    return initializer


def normal(mean: float = 0.0, std: float = 1.0) -> Initializer:
    """Return an initialiser that samples the normal distribution.

    Example:
        >>> import jax
        >>> print(normal(5.0, 0.0)(jax.random.key(0), (2,)))
        [5. 5.]

    Torch: `torch.nn.init.normal_`.
    """

    def initializer(key: Array, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Array:
        return mean + std * jax.random.normal(key, tuple(shape), dtype)

    return initializer


def trunc_normal(
    mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Initializer:
    """Return an initialiser that samples the normal distribution truncated to `[a, b]`.

    Example:
        >>> import jax
        >>> x = trunc_normal(std=0.02)(jax.random.key(0), (1000,))
        >>> print(f"{x.std():.2f}")
        0.02

    Torch: `torch.nn.init.trunc_normal_`.

    Differs from jax in:
        1. a and b are values (`jax.nn.initializers.truncated_normal`: numbers of standard
           deviations).
    """

    def initializer(key: Array, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Array:
        if mean < a - 2 * std or mean > b + 2 * std:
            warnings.warn(
                "mean is more than 2 std from [a, b] in trunc_normal. "
                "The distribution of values may be incorrect.",
                stacklevel=2,
            )
        low, high = (a - mean) / std, (b - mean) / std
        return mean + std * jax.random.truncated_normal(key, low, high, tuple(shape), dtype)

    return initializer


def xavier_uniform(gain: float = 1.0) -> Initializer:
    """Return a uniform initialiser with variance `2 gain**2 / (fan_in + fan_out)`.

    Raises:
        ValueError: The shape has fewer than two dims.

    Example:
        >>> import jax
        >>> x = xavier_uniform()(jax.random.key(0), (3, 3))
        >>> print(abs(x).max() < 1)
        True

    Torch: `torch.nn.init.xavier_uniform_`.
    """
    return _scaled(lambda shape: gain * math.sqrt(2.0 / sum(_fans(shape))), bounded=True)


def xavier_normal(gain: float = 1.0) -> Initializer:
    """Return a normal initialiser with the variance and errors of `xavier_uniform`.

    Example:
        >>> import jax
        >>> print(xavier_normal()(jax.random.key(0), (3, 3)).shape)
        (3, 3)

    Torch: `torch.nn.init.xavier_normal_`.
    """
    return _scaled(lambda shape: gain * math.sqrt(2.0 / sum(_fans(shape))), bounded=False)


def kaiming_uniform(
    a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Initializer:
    """Return a uniform initialiser with variance `gain**2 / fan`; torch's layers use `a=sqrt(5)`.

    Args:
        a: Negative slope of "leaky_relu".
        mode: Which fan is used, "fan_in" or "fan_out".
        nonlinearity: Nonlinearity whose gain is used.

    Raises:
        ValueError: `mode` is unknown, or the shape has fewer than two dims.

    Example:
        >>> import jax
        >>> x = kaiming_uniform(a=5**0.5)(jax.random.key(0), (1000, 4))
        >>> print(f"{abs(x).max():.2f}")
        0.50

    Torch: `torch.nn.init.kaiming_uniform_`.
    """
    return _scaled(lambda shape: _kaiming(shape, a, mode, nonlinearity), bounded=True)


def kaiming_normal(
    a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Initializer:
    """Return a normal initialiser with variance `gain**2 / fan`; see `kaiming_uniform`.

    Example:
        >>> import jax
        >>> print(kaiming_normal()(jax.random.key(0), (3, 3)).shape)
        (3, 3)

    Torch: `torch.nn.init.kaiming_normal_`.
    """
    return _scaled(lambda shape: _kaiming(shape, a, mode, nonlinearity), bounded=False)


def orthogonal(gain: float = 1) -> Initializer:
    """Return an initialiser of random orthogonal matrices times `gain`; later dims are flattened.

    Raises:
        ValueError: The shape has fewer than two dims.

    Example:
        >>> import jax
        >>> q = orthogonal()(jax.random.key(0), (2, 4))
        >>> print(abs(q @ q.T - jax.numpy.eye(2)).max() < 1e-6)
        True

    Torch: `torch.nn.init.orthogonal_`.
    """

    def initializer(key: Array, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Array:
        if len(shape) < 2:
            raise ValueError("Only tensors with 2 or more dimensions are supported")
        rows, columns = shape[0], math.prod(shape[1:])
        long, short = max(rows, columns), min(rows, columns)
        q, r = jnp.linalg.qr(jax.random.normal(key, (long, short), dtype))
        q = q * jnp.sign(jnp.diagonal(r))
        return gain * (q.T if rows < columns else q).reshape(shape)

    return initializer


def sparse(sparsity: float, std: float = 0.01) -> Initializer:
    """Return a normal initialiser that zeroes the fraction `sparsity` of each column.

    Raises:
        ValueError: The shape does not have two dims.

    Example:
        >>> import jax
        >>> print((sparse(0.5)(jax.random.key(0), (4, 3)) == 0).sum(0))
        [2 2 2]

    Torch: `torch.nn.init.sparse_`.
    """

    def initializer(key: Array, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Array:
        _require_two_dims(shape)
        normal_key, zero_key = jax.random.split(key)
        x = std * jax.random.normal(normal_key, tuple(shape), dtype)
        rank = jnp.argsort(jax.random.uniform(zero_key, tuple(shape)), axis=0)
        return jnp.where(rank < math.ceil(sparsity * shape[0]), 0, x)

    return initializer


def _fans(shape: Sequence[int]) -> tuple[int, int]:
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _kaiming(shape: Sequence[int], a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(shape)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _scaled(std: Callable[[Sequence[int]], float], *, bounded: bool) -> Initializer:
    """Return a uniform (if `bounded`) or normal initialiser with this standard deviation."""

    def initializer(key: Array, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Array:
        if 0 in shape:
            return jnp.zeros(shape, dtype)
        scale = std(shape)
        bound = math.sqrt(3.0) * scale
        draw = uniform(-bound, bound) if bounded else normal(0.0, scale)
        return draw(key, shape, dtype)

    return initializer


def _require_two_dims(shape: Sequence[int]) -> None:
    if len(shape) != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
