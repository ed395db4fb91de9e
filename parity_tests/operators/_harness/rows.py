"""A row of the conventions table: a call, torch's gradient, and that of a JAX expression."""

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from parity_tests.operators import Operator, jax_side
from parity_tests.operators._harness.jobs import Job


FLOOR = 1e-14  # smaller values are rounding errors of numbers of order one
WHOLE = 16  # larger arrays are shown as dtype and shape only
DIGITS = (4, 7, 10, 13, 17)  # the first count that distinguishes two gradients is used


class ConventionRow(NamedTuple):
    """One or more calls at which a JAX expression's gradient differs from torch's."""

    operator: str
    form: str
    by: str  # the argument's name in `jaxgrad.functional`
    at: str  # one call, or several points with the same gradients: `(1, -1, 1); (-1, -1, 1)`
    torch: str
    jax: str

    @property
    def points(self) -> list[str]:
        return self.at.split("; ")


def raising(record: Operator, form: str, job: Job, error: str) -> ConventionRow:
    """Return the row for a call at which the JAX expression raises."""
    at = _call(job, [_array(x) for x in job.arrays])
    return ConventionRow(record.name, form, "", at, "", f"raises {error}")


def measured(
    record: Operator,
    form: str,
    job: Job,
    name: str,
    pair: Sequence[np.ndarray],
    differs: np.ndarray,
) -> list[ConventionRow]:
    """Return an argument's rows: one for the whole array, or one per distinct pair of gradients."""
    by = _parameter(record, name)
    if not record.elementwise:
        at = _call(job, [_array(x) for x in job.arrays])
        return [ConventionRow(record.name, form, by, at, *_texts(*pair))]
    points: dict[tuple[str, str], list[str]] = {}
    for place in map(tuple, np.argwhere(differs)):
        here = [x[place] if x.shape == differs.shape else x for x in job.arrays]
        gradients = _texts(*(side[place] for side in pair))
        points.setdefault(gradients, []).append(_call(job, [_array(x) for x in here]))
    return [
        ConventionRow(record.name, form, by, "; ".join(dict.fromkeys(at)), *gradients)
        for gradients, at in points.items()
    ]


def _parameter(record: Operator, name: str) -> str:
    """Return the argument's name, such as `tensors[1]` for an element of a list of arrays."""
    first, *within = name.split(".")
    if first.isdigit():
        function = jax_side(dataclasses.replace(record, invariant=None))
        names = list(inspect.signature(function).parameters)
        first = names[min(int(first), len(names) - 1)]
    return first + "".join(f"[{place}]" for place in within)


class _Word(str):
    """Text whose repr has no quotes, so that it is inserted into a call unchanged."""

    __slots__ = ()
    __repr__ = str.__str__


def _call(job: Job, arrays: Sequence[str]) -> str:
    args, kwargs = job.rebuild(map(_Word, arrays))
    words = [_option(x) for x in args] + [f"{name}={_option(x)}" for name, x in kwargs.items()]
    return words[0] if len(words) == 1 and not kwargs else f"({', '.join(words)})"


def _option(x: Any) -> str:
    return f"{x:.4g}" if isinstance(x, float) else repr(x)


def _array(x: Any) -> str:
    x = np.asarray(x)
    return _list(x.tolist(), 4) if x.size <= WHOLE else f"{x.dtype}{list(x.shape)}"


def _list(x: Any, digits: int) -> str:
    if isinstance(x, list):
        return f"[{', '.join(_list(item, digits) for item in x)}]"
    return str(x) if isinstance(x, bool | int) else f"{x:.{digits}g}"


def _texts(torch: Any, jax: Any) -> tuple[str, str]:
    """Format both gradients with as many digits as distinguish them, arrays as flat lists."""
    pairs = [(_value(torch, digits), _value(jax, digits)) for digits in DIGITS]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])


def _value(x: Any, digits: int) -> str:
    x = np.asarray(x)
    x = np.where(np.abs(x) <= FLOOR, 0, x)  # drops the sign of -0, which depends on the compiler
    return _list(x.ravel().tolist() if x.ndim else x.item(), digits)
