"""Floats with one bit less: how a proof measures what rounding does to a result.

A program is run again with every result rounded to `MANTISSA` bits. This rounding is a function of
the number, so that equal numbers stay equal and a tie stays a tie; it keeps the order of numbers;
it changes no number that has the bits anyway (integers, short fractions), so that a number at a
bound stays there; and a number that is only moved (by `cat`, `where` or a view) is not rounded
twice. The inputs of a program are nudged instead, because most of them are float32 numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


MANTISSA = 51  # of the 52 bits that a float64 stores
EXPONENT = 11
FRACTION = 2**52 - 1  # the bits of a float64 that are its mantissa
EXPONENTS = 2**63 - 2**52
LARGEST = EXPONENTS - 2**52  # the exponent of the largest numbers, which a mask may contain
SHORT = 2**40 - 1  # bits that are 0 in a short number: 1, 0.75, an integer up to 8192
MULTIPLIERS = (0x1E3779B97F4A7C15, -0x2917014799A6026D)  # of the hash, for each perturbation
_CHUNK = 2**15  # numbers, which fit into the processor's cache


def nearest(x: np.ndarray) -> np.ndarray:
    """Return the nearest numbers with `MANTISSA` bits; ties go to even."""
    flat = np.array(x, np.float64).reshape(-1)
    bits = flat.view(np.int64)
    bits[:] = _even(bits)
    return flat.reshape(np.shape(x))


def nudged(x: np.ndarray, salt: int, fixed: Sequence[float] = ()) -> np.ndarray:
    """Move every number up or down by one unit of its last bit, as its hash says.

    The numbers have `MANTISSA` bits then. Equal numbers are moved equally, whatever their sign and
    their power of two is. Short numbers are not moved, because they may lie on a bound.

    Args:
        x: Floating or complex numbers.
        salt: Number of the perturbation: another one moves other numbers up.
        fixed: Further numbers that are not moved.
    """
    x = np.asarray(x)
    dtype = np.complex128 if np.iscomplexobj(x) else np.float64
    new = np.array(x, dtype, order="C").reshape(-1).view(np.float64)
    bits = new.view(np.int64)
    for start in range(0, new.size, _CHUNK):
        part = bits[start : start + _CHUNK]
        even = _even(part)
        fraction = even & FRACTION
        step = 2 + 4 * ((fraction * MULTIPLIERS[salt]) >> 63)
        step[((fraction & SHORT) == 0) | ((even & EXPONENTS) == LARGEST)] = 0
        if fixed:
            step[np.isin(new[start : start + _CHUNK], fixed)] = 0
        part[:] = even + step
    return new.view(dtype).reshape(x.shape)


def number(x: float) -> float:
    """Return the nearest number with `MANTISSA` bits."""
    return float(nearest(np.array(x, np.float64)))


def _even(bits: np.ndarray) -> np.ndarray:
    """Round numbers, given as their bits, to one bit less; the largest does not become infinite."""
    up = bits & (bits >> 1) & ((bits & EXPONENTS) != LARGEST)
    return (bits + (up & 1)) & ~1
