"""Scalars of an optimizer step, computed as in torch and rounded once to a leaf's dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def is_number(x: Any) -> TypeGuard[float]:
    """Whether `x` is a Python or numpy number (a compile-time constant), not an array."""
    return isinstance(x, (int, float, np.number))


def is_zero(x: Any) -> bool:
    """Whether `x` is zero and known at trace time."""
    return is_number(x) and x == 0


class Scalar:
    """A scalar known only at run time, with the dtype rules of torch's scalar arithmetic.

    Combined with Python numbers, torch's doubles stay doubles and its 0-dim tensors keep their
    dtype; `tensor` distinguishes the two. This also works under `jit` with x64 off.

    Args:
        value: An array of shape ().
        tensor: Whether torch holds a tensor here (such as a tensor `lr`) or a Python double.
        barrier: Applied to every result, to keep XLA from rewriting the expression.
        index: The scalar's place in `value`, if `value` is a vector with an element per leaf.
            Arithmetic with numbers is then the same for all leaves, so XLA computes it once.
    """

    def __init__(
        self, value: Any, tensor: bool, barrier: Any = lambda x: x, index: int | None = None
    ) -> None:
        with jax.enable_x64(True):
            value = jnp.asarray(value)
            floating = jnp.issubdtype(value.dtype, jnp.floating)
            self.tensor = tensor and floating
            self.value = value if self.tensor else value.astype(np.float64)
        self.barrier, self.index = barrier, index

    @property
    def alone(self) -> Scalar:
        """The same scalar with a value of shape ()."""
        if self.index is None:
            return self
        with jax.enable_x64(True):
            value = element(self.value, self.index)
        return Scalar(value, self.tensor, self.barrier.at(self.index))

    def astype(self, dtype: Any) -> jax.Array:
        """Round the value to `dtype`."""
        with jax.enable_x64(True):
            rounded = self.value.astype(dtype)
            return rounded if self.index is None else element(rounded, self.index)

    def as_tensor(self, dtype: Any) -> Scalar:
        """Mirror `torch.as_tensor(x, dtype=dtype)`."""
        return Scalar(self.astype(dtype), True, self.alone.barrier)

    def item(self) -> Scalar:
        """Mirror torch's `x.item()`: the same value as a double."""
        return Scalar(self.value, False, self.barrier, self.index)

    def _with(self, other: Any, fun: Callable[..., Any]) -> Scalar:
        if isinstance(other, Scalar) and self.index != other.index:
            return self.alone._with(other.alone, fun)
        tensors = [x.value.dtype for x in (self, other) if isinstance(x, Scalar) and x.tensor]
        dtype = np.result_type(*tensors) if tensors else np.dtype(np.float64)
        with jax.enable_x64(True):
            rest = (
                other.value
                if isinstance(other, Scalar)
                else self.barrier(jnp.asarray(other, dtype))
            )
            return Scalar(
                self.barrier(fun(self.value.astype(dtype), rest.astype(dtype))),
                bool(tensors),
                self.barrier,
                self.index,
            )

    def __add__(self, other: Any) -> Scalar:
        return self._with(other, jnp.add)

    def __sub__(self, other: Any) -> Scalar:
        return self._with(other, jnp.subtract)

    def __rsub__(self, other: Any) -> Scalar:
        return self._with(other, lambda x, y: y - x)

    def __mul__(self, other: Any) -> Scalar:
        return self._with(other, jnp.multiply)

    def __truediv__(self, other: Any) -> Scalar:
        if isinstance(other, Scalar) and other.tensor and not self.tensor:
            return self * (1.0 / other)  # torch divides a number by a tensor this way
        return self._with(other, jnp.divide)

    def __rtruediv__(self, number: Any) -> Scalar:
        if self.tensor and number != 1:
            return 1.0 / self * number
        return self._with(number, lambda x, y: y / x)

    def __pow__(self, other: Any) -> Scalar:
        power = self.item()._with(other, jnp.power)
        if not self.tensor:
            return power
        power = power.as_tensor(self.value.dtype)  # torch computes it in double, then rounds
        cube = self * self * self  # torch multiplies when the exponent is 3
        three = other._compare(3.0, jnp.equal) if isinstance(other, Scalar) else other == 3
        with jax.enable_x64(True):
            return Scalar(jnp.where(three, cube.value, power.value), True, self.barrier)

    def __rpow__(self, other: Any) -> Scalar:
        return self._with(other, lambda x, y: y**x)

    def __neg__(self) -> Scalar:
        return self * -1.0

    def sqrt(self) -> Scalar:
        with jax.enable_x64(True):
            root = self.barrier(jnp.sqrt(self.value))
            return Scalar(root, self.tensor, self.barrier, self.index)

    def maximum(self, other: Any) -> Scalar:
        return self._with(other, jnp.maximum)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, jnp.greater)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, jnp.less)

    def _compare(self, other: Any, fun: Callable[..., Any]) -> Any:
        with jax.enable_x64(True):
            value = self.alone.value
            return fun(value, jnp.asarray(other, value.dtype))

    __radd__, __rmul__ = __add__, __mul__


def element(vector: jax.Array, index: int) -> jax.Array:
    """Return an element of a vector at a place that is known at trace time."""
    return lax.index_in_dim(vector, index, keepdims=False)


def as_tensor(x: Any, dtype: Any) -> Any:
    """Convert a tensor scalar to `dtype`; a scalar that torch holds as a double is unchanged."""
    return x.as_tensor(dtype) if isinstance(x, Scalar) and x.tensor else x


def as_double(x: Any) -> Any:
    """Convert a tensor scalar to a double; a Python number is unchanged."""
    return x.item() if isinstance(x, Scalar) else x


def rounded(x: Any, dtype: Any) -> Any:
    """Round a Python number or a `Scalar` once to `dtype`."""
    return x.astype(dtype) if isinstance(x, Scalar) else np.asarray(x, dtype)[()]
