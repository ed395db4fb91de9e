"""Distances between floats in ULP and relative to a scale, where NaN equals NaN."""

import math
from typing import TypeGuard

import ml_dtypes
import numpy as np

from jaxgrad._core.typing import DTypeLike


BINS = (0, 1, 2, 4, 8, 16, 32, 64, 128)  # the lower edges of `histogram`


def is_array(leaf: object) -> TypeGuard[np.ndarray]:
    return isinstance(leaf, np.ndarray | np.generic)


def is_inexact_dtype(dtype: DTypeLike) -> bool:
    """Return whether a dtype is floating or complex, including the small floats of ml_dtypes."""
    return np.issubdtype(dtype, np.inexact) or _is_extended(dtype)


def epsilon(dtype: DTypeLike) -> float:
    return float(ml_dtypes.finfo(np.dtype(dtype)).eps)


def spacing(scale: float, dtype: DTypeLike) -> float:
    """Return one ULP of `dtype` at the magnitude `scale`."""
    info = ml_dtypes.finfo(np.dtype(dtype))
    if not scale or not math.isfinite(scale):
        return float(info.smallest_subnormal) if not scale else 0.0
    exponent = math.floor(math.log2(scale))
    return max(math.ldexp(float(info.eps), exponent), float(info.smallest_subnormal))


def _is_extended(dtype: DTypeLike) -> bool:
    dtype = np.dtype(dtype)
    return dtype.kind == "V" and dtype.name.startswith(("bfloat", "float"))


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)


def scale_of(leaf: object) -> float:
    """Return the largest finite magnitude of a leaf."""
    if not is_array(leaf) or not is_inexact_dtype(leaf.dtype):
        return 0.0
    array = wide(leaf)
    if array.dtype.kind != "c" and array.size:
        largest = max(float(array.max()), -float(array.min()))
        if math.isfinite(largest):
            return largest
    size = np.abs(array)
    return float(np.max(size, where=np.isfinite(size), initial=0.0))


def distance(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return |left - right|; NaN equals NaN, inf equals inf, and neither equals a finite number."""
    left, right = wide(left), wide(right)
    if left.dtype.kind == "c" or right.dtype.kind == "c":
        # Comparing real and imaginary parts distinguishes inf + 0j from inf + infj.
        left, right = left.astype(np.complex128), right.astype(np.complex128)
        return np.hypot(
            distance(np.real(left), np.real(right)), distance(np.imag(left), np.imag(right))
        )
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.asarray(left - right)
        np.abs(apart, out=apart)
        if np.isfinite(np.sum(apart)):  # no element is infinite or NaN
            return apart
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    return np.where(same, 0.0, np.where(np.isnan(apart), math.inf, apart))


def histogram(torch: np.ndarray, jax: np.ndarray) -> tuple[int, ...]:
    if torch.dtype.kind == "c":
        torch = np.stack([np.real(torch), np.imag(torch)])
        jax = np.stack([np.real(jax), np.imag(jax)])
    left, right = _ordinal(torch).ravel(), _ordinal(jax).ravel()
    low, high = np.minimum(left, right), np.maximum(left, right)
    apart = high.astype(np.uint64) - low.astype(np.uint64)  # int64 would overflow
    edges = [*BINS, math.inf]
    return tuple(int(n) for n in np.histogram(apart.astype(np.float64), edges)[0])


def _ordinal(array: np.ndarray) -> np.ndarray:
    """Map floats to consecutive integers, so that neighbours differ by one."""
    bits = array.dtype.itemsize * 8
    signed = np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").astype(np.int64)
    return np.where(signed < 0, -(2 ** (bits - 1)) - signed, signed)
