"""Say how a size is computed from the sizes of a port's inputs: `4*s0`, `s0+1`, `s0*s1//4`.

Numbers stand for the sizes of the inputs. Two runs of the port, with different numbers, tell a size
that is computed from them from one of the configuration.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from fractions import Fraction


UNKNOWN = "computed({}, {})"  # a size without a short formula
LARGEST = 64  # a size is at most so many times another one, or so much more
Pair = tuple[int, int]  # a size in the first run and in the second one
_NUMBER = re.compile(r"(?<![A-Za-z_\d])\d+")


def text(first: str, second: str, numbers: Mapping[str, Pair]) -> str:
    """Return the formula of a size.

    Args:
        first: The size in the first run; with symbols, it is a formula that may have numbers too.
        second: The size in the second run.
        numbers: The numbers that stand for sizes in the two runs, by their names.
    """
    if _NUMBER.split(first) != _NUMBER.split(second):
        return UNKNOWN.format(first, second)
    pairs = zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=True)
    formulas = iter([_formula((int(a), int(b)), numbers) for a, b in pairs])
    whole = _NUMBER.fullmatch(first)
    return _NUMBER.sub(lambda _: _part(next(formulas), bool(whole)), first)


def _part(formula: str, whole: bool) -> str:
    """Return a formula as a part of another one."""
    return formula if whole or formula.isalnum() else f"({formula})"


def _formula(size: Pair, numbers: Mapping[str, Pair]) -> str:
    if size[0] == size[1]:
        return str(size[0])
    if size in numbers.values():
        return next(label for label, pair in numbers.items() if pair == size)
    for count in range(1, len(numbers) + 1):
        for labels in itertools.combinations(numbers, count):
            product = _multiple(size, labels, numbers)
            if product:
                return product
    for label, pair in numbers.items():
        difference = size[0] - pair[0]
        if difference == size[1] - pair[1] and abs(difference) <= LARGEST:
            return f"{label}{difference:+d}"
    return UNKNOWN.format(*size)


def _multiple(size: Pair, labels: tuple[str, ...], numbers: Mapping[str, Pair]) -> str:
    """Return `4*s0*s1` or `s0*s1//4` if the size is such a multiple of a product."""
    ratios = [Fraction(number) for number in size]
    for label in labels:
        ratios = [ratio / n for ratio, n in zip(ratios, numbers[label], strict=True)]
    ratio = ratios[0]
    if ratio != ratios[1] or max(ratio.numerator, ratio.denominator) > LARGEST:
        return ""
    factor = "" if ratio.numerator == 1 else f"{ratio.numerator}*"
    divisor = "" if ratio.denominator == 1 else f"//{ratio.denominator}"
    return f"{factor}{'*'.join(labels)}{divisor}"
