"""Multiples: a JAX value or gradient that is torch's times a constant."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import fingerprint, is_constant, print_distance


SAME = 1e-9  # the largest distance between the fingerprints of equal values


def find(x: np.ndarray, prints: np.ndarray) -> int | None:
    """Return the row of `prints` that equals the fingerprint of `x`, or None."""
    print_ = fingerprint(x)
    number = x.size == 1 and 4 * np.real(x.item()) % 1  # any program may contain 0, 1 or 0.5
    if not len(prints) or (is_constant(print_) and not number):
        return None
    return find_print(print_, prints)


def find_print(one: np.ndarray, prints: np.ndarray) -> int | None:
    """Return the row of `prints` that equals a fingerprint, or None."""
    equal = np.flatnonzero(print_distance(one, prints) < SAME)
    return int(equal[0]) if len(equal) else None


def find_multiple(data: np.ndarray, prints: np.ndarray) -> tuple[int, float] | None:
    """Return the row of a JAX value that is a multiple of torch's, and the factor, or None."""
    if not len(prints) or data.size < 2:
        return None
    mean = float(np.mean(np.abs(data)))
    if not mean or not math.isfinite(mean) or is_constant(fingerprint(data)):
        return None
    for at in np.flatnonzero(prints[:, 0] == data.size):
        factor = float(prints[at, 6]) / mean
        for signed in (factor, -factor):
            if factor and abs(signed - 1) > 1e-9:
                if print_distance(fingerprint(data * signed), prints[at]) < SAME:
                    return int(at), signed
    return None


def not_finite(expected: np.ndarray | None, actual: np.ndarray) -> tuple[str, tuple[int, ...]]:
    """Describe the elements that are NaN or infinite in one framework only, and find the first.

    >>> not_finite(np.array([1.0, 2.0]), np.array([1.0, np.nan]))
    ('JAX gives nan in 1 of 2 elements, torch gives 2 at the first', (1,))
    """
    if expected is None or expected.shape != actual.shape:
        return "", ()
    at = np.argwhere(np.isfinite(expected) != np.isfinite(actual))
    if not len(at):
        return "", ()
    first = tuple(int(i) for i in at[0])
    pair = ("JAX", actual[first]), ("torch", expected[first])
    (bad, value), (good, number) = pair if np.isfinite(expected[first]) else pair[::-1]
    count = f"{len(at)} of {actual.size} elements" if actual.size > 1 else "its only element"
    return f"{bad} gives {value:.6g} in {count}, {good} gives {number:.6g} at the first", first


def largest(x: np.ndarray) -> tuple[int, ...]:
    """Return the index of the element with the largest magnitude; NaN counts as 0."""
    if not x.size:
        return ()
    at = int(np.argmax(np.where(np.isnan(x), 0, np.abs(x))))
    return tuple(map(int, np.unravel_index(at, x.shape)))


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two values have the same shape and, up to rounding, the same elements in order."""
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)


def as_written(x: float) -> str:
    """Format a number as a person would write it: 1/sqrt(8)."""
    if math.isclose(x, round(x), rel_tol=1e-9):
        return str(round(x))
    for n in range(2, 4097):
        if math.isclose(x, 1 / math.sqrt(n), rel_tol=1e-9):
            return f"1/sqrt({n})"
        if math.isclose(x, math.sqrt(n), rel_tol=1e-9):
            return f"sqrt({n})"
        if math.isclose(x, 1 / n, rel_tol=1e-9):
            return f"1/{n}"
    short = f"{x:.6g}"
    # 1.0000001 must not read as 1.
    return f"{x:.12g}" if f"{x:.3g}" == short and not math.isclose(x, float(short)) else short


def ratio(expected: np.ndarray | None, actual: np.ndarray | None) -> str:
    """Describe how JAX's gradient of a parameter relates to torch's.

    Any two numbers have a ratio, so the gradient of a single number is described only if it is 0.
    """
    if expected is None or actual is None:
        return ""
    if not np.any(actual):
        return "JAX's gradient is zero, torch's is not"
    size = float(np.vdot(expected, expected).real)
    factor = float(np.vdot(expected, actual).real) / size if size else 0.0
    miss = float(np.linalg.norm(actual - factor * expected))
    if expected.size > 1 and factor and miss < 1e-9 * float(np.linalg.norm(actual)):
        return f"JAX's gradient is torch's times {as_written(factor)}"
    if expected.shape == actual.shape and np.iscomplexobj(expected):
        if np.linalg.norm(actual - np.conj(expected)) < 1e-9 * float(np.linalg.norm(actual)):
            return "JAX's gradient is the conjugate of torch's"
    rest = actual - expected
    rows = np.flatnonzero(np.any(rest.reshape(len(rest), -1) != 0, 1)) if rest.ndim > 1 else ()
    wrong = [int(r) for r in rows if np.max(np.abs(rest[r])) > 1e-9 * np.max(np.abs(expected))]
    if 0 < len(wrong) <= max(1, len(rest) // 4):
        listed = ", ".join(map(str, wrong[:4])) + (", ..." if len(wrong) > 4 else "")
        name = f"row {listed} differs" if len(wrong) == 1 else f"rows {listed} differ"
        return f"only {name}"
    return ""


def agreement(share: float, of: str = "", *, count: int = 2) -> str:
    """Return how closely one value or several agree, and relative to what.

    Without a value, nothing is said to agree: `accept=` names them all.

    >>> agreement(2e-16, "their scale"), agreement(0.0, count=1), agreement(0.0, count=0)
    ('agree within 2e-16 (relative to their scale)', 'is bit-identical', 'are all accepted')
    """
    if not count:
        return "are all accepted"
    agree, are = ("agrees", "is") if count == 1 else ("agree", "are")
    if not share:
        return f"{are} bit-identical"
    return f"{agree} within {share:.1g}" + (f" (relative to {of})" if of else "")


def agreements(what: str, share: float, of: str, verdicts: Collection[str]) -> str:
    """Say how closely the values agree that `accept=` does not name.

    >>> agreements("weights", 0.0, "their change", ["pass", "accepted"])
    'other weights are bit-identical'
    >>> agreements("weights", 0.0, "their change", ["accepted"])
    'weights are all accepted'
    """
    if "accepted" not in verdicts:
        return f"{what} {agreement(share, of)}"
    some = "pass" in verdicts
    return f"{'other ' * some}{what} {agreement(share, of, count=2 * some)}"


def zeros(verdicts: Sequence[str]) -> str:
    """Say how many values are zero up to rounding in both frameworks.

    >>> zeros(["pass", "zero"])
    '; 1 is zero up to rounding in both frameworks'
    """
    count = verdicts.count("zero")
    verb = "is" if count == 1 else "are"
    return f"; {count} {verb} zero up to rounding in both frameworks" if count else ""


def proportion(x: Any, y: Any) -> float | None:
    """Return the factor between two arrays if they are proportional and differ, or else None."""
    if np.size(x) < 2:
        return None  # two numbers are always proportional
    factor = float(np.vdot(x, y).real / (np.vdot(x, x).real or 1.0))
    proportional = np.linalg.norm(y - factor * x) <= 1e-9 * np.linalg.norm(y)
    return factor if factor and abs(factor - 1) > 1e-6 and proportional else None
