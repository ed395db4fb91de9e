"""The rule by which a change that was tried becomes the confirmed cause of a difference.

A search changes one setting in torch, runs it again, and compares the result with JAX's. Agreement
alone proves nothing: a change without an effect agrees too where the comparison is coarse. So the
comparison must fail without the change, and by much more than what remains with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxgrad.parity.prove.judge import Judged


MARGIN = 10.0  # the difference without a change, relative to the one that remains with it


class Compared(NamedTuple):
    """One comparison of torch with JAX."""

    name: str
    verdict: str  # as in `Judged`
    difference: float  # relative to the scale of the values
    low: float  # the smallest and the largest of JAX's values, NaN if one is not finite
    high: float
    step: int = 0  # the training step after which the values are compared
    size: int = 0  # the number of values
    draw: int = 0  # the draw of weights and inputs

    @property
    def of(self) -> tuple[str, int]:
        """What is compared: the name and the draw."""
        return self.name, self.draw


class Range(NamedTuple):
    """The smallest and the largest of some values, NaN if one is not finite."""

    low: float
    high: float
    size: int = 0  # the number of values


# What a report adds to a change that explains a difference, if the search ended before the others.
UNTRIED = "; not confirmed, because the time ended before all other changes were tried"

AGREES = ("pass", "accepted", "zero")  # verdicts

_MOST_LISTED = 3  # mistakes that explain the same difference

UNKNOWN = Range(math.nan, math.nan)


def range_of(values: np.ndarray) -> Range:
    """Return the smallest and the largest element, NaN if an element is not finite."""
    if np.iscomplexobj(values):
        values = np.stack([np.real(values), np.imag(values)])
    if not np.size(values) or not np.isfinite(values).all():
        return UNKNOWN
    return Range(float(np.min(values)), float(np.max(values)), np.size(values))


def compared(judged: Judged, values: Range, step: int = 0, draw: int = 0) -> Compared:
    """Return the comparison of a leaf, of which JAX has values in this range."""
    low, high, size = values
    return Compared(judged.name, judged.verdict, judged.share, low, high, step, size, draw)


def _telling(rows: Sequence[Compared]) -> bool:
    """Whether few changes give these values: not if they are all one number, or a simple one."""
    if min(c.low for c in rows) != max(c.high for c in rows):
        return True
    return all(c.size == 1 for c in rows) and 4 * rows[0].low % 1 != 0


def confirms(without: Sequence[Compared], changed: Sequence[Compared]) -> bool:
    """Whether a change, and nothing else, explains why torch and JAX differ.

    Args:
        without: All comparisons of the unchanged programs.
        changed: The same comparisons after the change.

    Returns:
        True if `refusal` has no reason against it.
    """
    return not refusal(without, changed)


def refusal(without: Sequence[Compared], changed: Sequence[Compared]) -> str:
    """Return why a change does not explain a difference, as a clause; empty if it does.

    With the change, everything must agree that agreed or differed without it. Without the change,
    something must differ, by at least `MARGIN` times the largest difference that remains with it.
    With the change, JAX's values must be finite, and those of one leaf at least must not be zero up
    to rounding. They must not be one constant, which many changes can give; the single number that
    a loss is must not be a multiple of 1/4.
    """
    wrong = [c for c in without if c.verdict == "fail"]
    after = {c.of: c for c in changed}
    if not wrong or after.keys() != {c.of for c in without}:
        return "not the same values were compared"
    right = [after[c.of] for c in wrong]
    if any(c.verdict == "fail" for c in changed):
        return "values differ with the change too"
    settled = [c for c in without if c.verdict in ("fail", *AGREES)]
    if any(after[c.of].verdict not in AGREES for c in settled):
        return "rounding is too large to decide"
    if not all(math.isfinite(x) for c in right for x in (c.difference, c.low, c.high)):
        return "the values are not finite"
    equal = [c for c in right if c.verdict != "zero"]
    if not equal or not _telling(equal):
        return "the values are zero or one constant, which many changes give"
    rest = max((c.difference for c in changed if c.verdict == "pass"), default=0.0)
    largest = max(c.difference for c in wrong)
    if largest < MARGIN * rest or any(c.difference <= after[c.of].difference for c in wrong):
        return "it is not much larger than what remains"
    return ""


def may_confirm(without: Sequence[Compared], changed: Sequence[Compared]) -> bool:
    """Whether a change may explain the first steps that differ; `confirms` judges all steps.

    A warmup from 0 leaves the weights unchanged in the first step, which is one constant.
    """
    wrong = any(c.verdict == "fail" for c in without)
    return wrong and all(c.verdict != "fail" for c in changed)


def settled(
    texts: Sequence[str], tested: str, *, every: bool = True, change: str = "this change"
) -> tuple[str, bool]:
    """Return the cause that a report prints, and whether it is confirmed.

    Args:
        texts: The changes that explain the difference, each as a clause.
        tested: The sentence that says how they were tested, with "{}" for "this change".
        every: Whether every change was tried; a search that the time ended confirms nothing.
        change: What the sentence calls one change.

    Example:
        >>> settled(["eps is 1e-06"], "rerunning torch with {}")
        ('eps is 1e-06 (rerunning torch with this change)', True)
        >>> text, confirmed = settled(["eps is 1e-06", "beta2 is 0.9"], "rerunning torch with {}")
        >>> text
        'either eps is 1e-06, or beta2 is 0.9 (rerunning torch with either of these changes)'
        >>> confirmed
        False
    """
    different = list(dict.fromkeys(texts))
    many = "either of these changes" if len(different) == 2 else "any of these changes"
    change = change if len(different) == 1 else many
    confirmed = every and len(different) == 1
    rest = UNTRIED if len(different) == 1 and not every else ""
    text = f"{either(texts)} ({tested.format(change)}{rest})" if texts else ""
    return text, confirmed


def either(texts: Sequence[str]) -> str:
    """Join the mistakes that explain the same difference.

    Example:
        >>> either(["eps is 1e-06", "beta2 is 0.9", "eps is 1e-06"])
        'either eps is 1e-06, or beta2 is 0.9'
        >>> either(["a", "b", "c", "d", "e"])
        'either a, or b, or c, or one of 2 more'
    """
    different = list(dict.fromkeys(texts))
    more = len(different) - _MOST_LISTED
    if more > 0:
        rest = "one of " if more > 1 else ""
        different = [*different[:_MOST_LISTED], f"{rest}{more} more"]
    return f"either {', or '.join(different)}" if len(different) > 1 else "".join(different)
