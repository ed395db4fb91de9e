"""Write a folded number as a person does: `1 / 3`, `8**-0.5` and `math.log(2)`, not its digits."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression


DIGITS = 8  # characters of a number that is written as it is
LONGEST = 40  # characters of a formula
LARGEST = 10**6  # the largest integer in a formula that is found from its value


def is_long(value: Any) -> bool:
    """Return whether a number has too many digits to say what it is."""
    return (
        isinstance(value, float) and math.isfinite(value) and len(repr(float(abs(value)))) > DIGITS
    )


def found(value: float) -> ast.expr | None:
    """Return a formula whose value is exactly a number, or None."""
    size = float(abs(value))
    if not 1 / LARGEST < size < LARGEST:
        return None
    for text in _candidates(size):
        code = ast.parse(text, mode="eval").body
        if eval(text, {"math": math}) == size:
            new = ast.UnaryOp(ast.USub(), code) if value < 0 else code
            on_expression(new).number = True
            return new
    return None


def _candidates(x: float) -> Iterator[str]:
    yield from ("math.pi", "2 * math.pi", "math.sqrt(2 * math.pi)", "math.log(2 * math.pi)")
    yield "0.5 * math.log(2 * math.pi)"
    powers = (
        ("1 / {}", 1 / x), ("{}**-0.5", x**-2), ("1 / math.sqrt({})", x**-2), ("{}**0.5", x**2),
    )  # fmt: skip
    for text, guess in powers:
        if 2 <= round(guess) <= LARGEST:
            yield text.format(round(guess))
    if x < math.log(LARGEST):
        yield f"math.log({max(round(math.exp(x)), 2)})"


def short(code: ast.expr) -> ast.expr | None:
    """Return a formula, or None if it is long."""
    return code if len(syntax.text(code)) <= LONGEST else None
