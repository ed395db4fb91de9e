"""Padding layers, with the widths of the last dim first as in `functional.pad`."""

from __future__ import annotations

from collections.abc import Sequence

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, sizes


class _Pad(Layer):
    """Base class of padding in one mode."""

    _ndim: int
    _mode = "constant"
    value: float | None = None  # of constant padding; None means 0

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = sizes(padding, 2 * self._ndim)

    def __call__(self, input: Array) -> Array:
        return functional.pad(input, self.padding, self._mode, self.value)


class _ConstantPad(_Pad):
    """Base class of padding with a constant."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value


class ZeroPad1d(_Pad):
    """Pad `(N, C, L)` with zeros.

    Args:
        padding: The width at each end, or the widths at the start and the end of each dim, last dim
            first; a negative width crops.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ZeroPad1d(1)(jnp.array([[1.0, 2.0, 3.0]])))
        [[0. 1. 2. 3. 0.]]

    Torch: `torch.nn.ZeroPad1d`.
    """

    _ndim = 1


class ZeroPad2d(_Pad):
    """Pad `(N, C, H, W)` with zeros; see `ZeroPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ZeroPad2d(1)(jnp.ones((1, 1, 2, 2))).shape)
        (1, 1, 4, 4)

    Torch: `torch.nn.ZeroPad2d`.
    """

    _ndim = 2


class ZeroPad3d(_Pad):
    """Pad `(N, C, D, H, W)` with zeros; see `ZeroPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ZeroPad3d(1)(jnp.ones((1, 1, 2, 2, 2))).shape)
        (1, 1, 4, 4, 4)

    Torch: `torch.nn.ZeroPad3d`.
    """

    _ndim = 3


class ConstantPad1d(_ConstantPad):
    """Pad `(N, C, L)` with a constant.

    Args:
        padding: The width at each end, or the widths at the start and the end of each dim, last dim
            first; a negative width crops.
        value: The constant.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ConstantPad1d(1, 9.0)(jnp.array([[1.0, 2.0, 3.0]])))
        [[9. 1. 2. 3. 9.]]

    Torch: `torch.nn.ConstantPad1d`.
    """

    _ndim = 1


class ConstantPad2d(_ConstantPad):
    """Pad `(N, C, H, W)` with a constant; see `ConstantPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ConstantPad2d(1, 9.0)(jnp.ones((1, 1, 2, 2))).shape)
        (1, 1, 4, 4)

    Torch: `torch.nn.ConstantPad2d`.
    """

    _ndim = 2


class ConstantPad3d(_ConstantPad):
    """Pad `(N, C, D, H, W)` with a constant; see `ConstantPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ConstantPad3d(1, 9.0)(jnp.ones((1, 1, 2, 2, 2))).shape)
        (1, 1, 4, 4, 4)

    Torch: `torch.nn.ConstantPad3d`.
    """

    _ndim = 3


class ReflectionPad1d(_Pad):
    """Pad `(N, C, L)` with its reflection at the edge.

    Args:
        padding: The width at each end, or the widths at the start and the end of each dim, last dim
            first; a negative width crops.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ReflectionPad1d(1)(jnp.array([[1.0, 2.0, 3.0]])))
        [[2. 1. 2. 3. 2.]]

    Torch: `torch.nn.ReflectionPad1d`.
    """

    _mode = "reflect"
    _ndim = 1


class ReflectionPad2d(_Pad):
    """Pad `(N, C, H, W)` with its reflection at the edge; see `ReflectionPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ReflectionPad2d(1)(jnp.ones((1, 1, 2, 2))).shape)
        (1, 1, 4, 4)

    Torch: `torch.nn.ReflectionPad2d`.
    """

    _mode = "reflect"
    _ndim = 2


class ReflectionPad3d(_Pad):
    """Pad `(N, C, D, H, W)` with its reflection at the edge; see `ReflectionPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ReflectionPad3d(1)(jnp.ones((1, 1, 2, 2, 2))).shape)
        (1, 1, 4, 4, 4)

    Torch: `torch.nn.ReflectionPad3d`.
    """

    _mode = "reflect"
    _ndim = 3


class ReplicationPad1d(_Pad):
    """Pad `(N, C, L)` with its edge.

    Args:
        padding: The width at each end, or the widths at the start and the end of each dim, last dim
            first; a negative width crops.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ReplicationPad1d(1)(jnp.array([[1.0, 2.0, 3.0]])))
        [[1. 1. 2. 3. 3.]]

    Torch: `torch.nn.ReplicationPad1d`.
    """

    _mode = "replicate"
    _ndim = 1


class ReplicationPad2d(_Pad):
    """Pad `(N, C, H, W)` with its edge; see `ReplicationPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ReplicationPad2d(1)(jnp.ones((1, 1, 2, 2))).shape)
        (1, 1, 4, 4)

    Torch: `torch.nn.ReplicationPad2d`.
    """

    _mode = "replicate"
    _ndim = 2


class ReplicationPad3d(_Pad):
    """Pad `(N, C, D, H, W)` with its edge; see `ReplicationPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ReplicationPad3d(1)(jnp.ones((1, 1, 2, 2, 2))).shape)
        (1, 1, 4, 4, 4)

    Torch: `torch.nn.ReplicationPad3d`.
    """

    _mode = "replicate"
    _ndim = 3


class CircularPad1d(_Pad):
    """Pad `(N, C, L)` with its opposite end.

    Args:
        padding: The width at each end, or the widths at the start and the end of each dim, last dim
            first; a negative width crops.

    Example:
        >>> import jax.numpy as jnp
        >>> print(CircularPad1d(1)(jnp.array([[1.0, 2.0, 3.0]])))
        [[3. 1. 2. 3. 1.]]

    Torch: `torch.nn.CircularPad1d`.
    """

    _mode = "circular"
    _ndim = 1


class CircularPad2d(_Pad):
    """Pad `(N, C, H, W)` with its opposite end; see `CircularPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(CircularPad2d(1)(jnp.ones((1, 1, 2, 2))).shape)
        (1, 1, 4, 4)

    Torch: `torch.nn.CircularPad2d`.
    """

    _mode = "circular"
    _ndim = 2


class CircularPad3d(_Pad):
    """Pad `(N, C, D, H, W)` with its opposite end; see `CircularPad1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(CircularPad3d(1)(jnp.ones((1, 1, 2, 2, 2))).shape)
        (1, 1, 4, 4, 4)

    Torch: `torch.nn.CircularPad3d`.
    """

    _mode = "circular"
    _ndim = 3
