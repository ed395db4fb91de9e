"""The number that somebody meant by a float32 constant in a program."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator

import numpy as np


_DIGITS = 5  # with more, float32 may have rounded a number that was computed
_MOST = 7  # with more, it has


def meant(x: np.generic | np.ndarray, used: Collection[float] = ()) -> float | None:
    """The float64 number that a constant of lower precision stands for.

    A decimal with few digits is what someone wrote (0.044715); one with many was computed in
    float64 and rounded: sqrt(1/2) in the exact GELU, sqrt(2/pi) in the tanh one, 1/sqrt(head size).

    Args:
      x: A scalar of a lower precision, ().
      used: Numbers that the other side works with: one that rounds to `x` comes first.

    Returns:
      The number, or None where nothing simple rounds to it.

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
    written = float(str(low))
    digits = _digits(written)
    if not math.isfinite(written) or digits <= _DIGITS:
        return written
    found = _known(low.dtype.name).get(abs(float(low)))
    if found is not None:
        return math.copysign(found, written)
    return written if digits <= _MOST else None


def _digits(x: float) -> int:
    return len(repr(x).split("e")[0].replace("-", "").replace(".", "").strip("0"))


@functools.cache
def _known(dtype: str) -> dict[float, float]:
    """Rounded -> exact; of several numbers that round alike the first, which is the simplest."""
    import jax.numpy as jnp

    found: dict[float, float] = {}
    for x in _numbers():
        found.setdefault(float(np.asarray(x).astype(jnp.dtype(dtype))), x)
    return found


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
