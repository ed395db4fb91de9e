"""Numbers and counts in words, as reports and errors write them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def number(x: Any) -> str:
    """Format a number with two significant digits; NaN and infinities become words."""
    return f"{x:.2g}" if isinstance(x, float) and math.isfinite(x) else value(x)


def counted(count: int, noun: str) -> str:
    """Return a number with a noun: "1 value", "2 values"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def clauses(text: str) -> list[str]:
    """Split a text at the semicolons outside of parentheses.

    Example:
        >>> clauses("2 steps agree; 1 does not (a; b)")
        ['2 steps agree', '1 does not (a; b)']
    """
    parts = [""]
    for piece in text.split("; "):
        inside = parts[-1].count("(") > parts[-1].count(")")
        if inside:
            parts[-1] += f"; {piece}"
        else:
            parts.append(piece)
    return parts[1:]


def listed(words: Sequence[str]) -> str:
    """Join words with commas, and the last one with "and".

    Example:
        >>> listed(["outputs", "gradients", "state"]), listed(["outputs"])
        ('outputs, gradients and state', 'outputs')
    """
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def differing(count: int, of: int, noun: str) -> str:
    """Say how many of some values differ.

    Example:
        >>> differing(1, 1, "gradient"), differing(1, 2, "gradient")
        ('1 of 1 gradient differs', '1 of 2 gradients differ')
    """
    return f"{count} of {counted(of, noun)} differ{'s' * (of == 1)}"


def passed_and_failed(passed: int, failed: int, errors: int) -> str:
    """Return `N passed, M failed`, with the errors among the failed ones if there are any."""
    among = f" ({errors} with an error)" if errors else ""
    return f"{passed} passed, {failed} failed{among}"


def value(x: Any) -> str:
    """Format a value with all digits, so that a difference of 1e-12 is visible."""
    if x is None:
        return ""
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else "∞" if x > 0 else "-∞"
    return str(x)


def distinct(x: Any, y: Any, least: int = 4) -> str:
    """Format a value with the digits that distinguish it from another one, at least four.

    Example:
        >>> distinct(0.12345678, 0.12345689)
        '0.1234568'
        >>> distinct(0.1 + 0.2, 0.3)
        '0.3'
    """
    floats = isinstance(x, float) and math.isfinite(x) and isinstance(y, float | None)
    if not floats:
        return value(x)
    if y is None or not math.isfinite(y) or abs(x - y) <= 1e-15 * max(abs(x), abs(y)):
        return f"{x:.{least}g}"
    digits = next(n for n in range(least, 18) if f"{x:.{n}g}" != f"{y:.{n}g}" or n == 17)
    return f"{x:.{digits}g}"
