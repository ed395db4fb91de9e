"""Recover the float64 number that a float32 constant of a program was rounded from."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np


_DIGITS = 5  # a decimal with more digits may be a computed number, rounded to float32
_MOST = 7  # a decimal with more digits is certainly a computed number
# Constants of activations, and those that a decimal with two digits could be confused with.
_COMMON = (0.044715, 1.702, math.sqrt(2 / math.pi), math.sqrt(0.5), math.sqrt(2), math.pi, math.e,
           math.log(2), 1.6732632423543772, 1.0507009873554805)  # fmt: skip


def meant(x: np.generic | np.ndarray, used: Collection[float] = ()) -> float | None:
    """Return the float64 number that a constant of lower precision was rounded from.

    A decimal with few digits was written in the source (0.044715). One with many digits was
    computed in float64 and rounded: sqrt(1/2) in the exact GELU, sqrt(2/pi) in the tanh
    approximation, 1/sqrt(head size) in attention.

    Returns:
        The number, or None if no simple number rounds to it.

    >>> meant(np.float32(0.1))
    0.1
    >>> meant(np.float32(0.5**0.5))
    0.7071067811865476
    >>> meant(np.float32(0.79788456)), meant(np.float32(0.79788456), [0.79788456])
    (0.7978845608028654, 0.79788456)
    >>> meant(np.float32(0.12345678)) is None
    True
    """
    low = np.asarray(x)[()]
    for number in used:
        if np.asarray(number).astype(low.dtype) == low:
            return number
    if low.dtype.itemsize < 4 and math.isfinite(low):
        return _coarse(low)
    written = float(str(low))
    digits = _digits(written)
    if not math.isfinite(written) or digits <= _DIGITS:
        return written
    number = _known(low.dtype.name).get(abs(float(low)))
    if number is not None:
        return math.copysign(number, written)
    return written if digits <= _MOST else None


def _coarse(low: Any) -> float | None:
    """Return the number behind a bfloat16 or float16, to which many decimals round."""
    decimals = [float(f"{float(low):.{digits}g}") for digits in (1, 2, 3, 4)]
    known = _known(low.dtype.name).get(abs(float(low)))
    common = [math.copysign(x, float(low)) for x in _COMMON]
    simple = [] if known is None else [math.copysign(known, float(low))]
    for x in (*common, *decimals[:2], *simple, *decimals[2:]):
        if np.asarray(x).astype(low.dtype) == low:
            return x
    return None


def _digits(x: float) -> int:
    return len(repr(x).split("e")[0].replace("-", "").replace(".", "").strip("0"))


@functools.cache
def _known(dtype: str) -> dict[float, float]:
    """Map rounded numbers to exact ones; the simplest wins if several round to the same number."""
    import jax.numpy as jnp

    exact: dict[float, float] = {}
    for x in _numbers():
        exact.setdefault(float(np.asarray(x).astype(jnp.dtype(dtype))), x)
    return exact


def _numbers() -> Iterator[float]:
    irrational = (math.pi, 2 * math.pi, math.pi / 2, math.sqrt(math.pi), math.sqrt(2 * math.pi),
                  math.sqrt(2 / math.pi), math.e, math.log(2 * math.pi), math.log(math.pi),
                  1.6732632423543772, 1.0507009873554805)  # fmt: skip
    for x in irrational:
        yield from (x, 1 / x, x / 2, x / 180, 180 / x)
    for n in range(1, 33):
        for m in range(1, 33):
            yield from (n / m, math.sqrt(n / m))
    for n in range(2, 4097):
        yield from (math.sqrt(n), 1 / math.sqrt(n), 1 / n, math.log(n), 1 / math.log(n))
    for n in (4, 3, 8):
        yield from (k ** (1 / n) for k in range(2, 1025))
        yield from (k ** (-1 / n) for k in range(2, 1025))
    yield from (math.log(k) / k2 for k in (10000.0, 2.0, 10.0) for k2 in range(1, 1025))
