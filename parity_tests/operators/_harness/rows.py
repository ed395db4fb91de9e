"""A row of the conventions table: at a call, torch's gradient and that of a natural JAX form."""

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from parity_tests.operators import Operator, jax_side
from parity_tests.operators._harness.jobs import Job


FLOOR = 1e-14  # sums of order one round there, and a point may be their difference
WHOLE = 16  # elements of an array that is written down
DIGITS = (4, 7, 10, 13, 17)  # as many as it takes to tell two gradients apart


class ConventionRow(NamedTuple):
    """Calls at which the natural JAX form has this gradient, and torch that one."""

    operator: str
    form: str
    by: str  # the argument, as our function calls it
    at: str  # one call, or several points with the same gradients: `(1, -1, 1); (-1, -1, 1)`
    torch: str
    jax: str

    @property
    def points(self) -> list[str]:
        return self.at.split("; ")


def raising(record: Operator, form: str, job: Job, error: str) -> ConventionRow:
    """A call that the natural form has no gradient for."""
    at = _call(job, [_array(x) for x in job.arrays])
    return ConventionRow(record.name, form, "", at, "", f"raises {error}")


def measured(
    record: Operator, form: str, job: Job, name: str, sides: Sequence[np.ndarray], apart: np.ndarray
) -> list[ConventionRow]:
    """The gradients by one argument: whole, or at each element where they are apart."""
    by = _parameter(record, name)
    if not record.elementwise:
        at = _call(job, [_array(x) for x in job.arrays])
        return [ConventionRow(record.name, form, by, at, *_texts(*sides))]
    points: dict[tuple[str, str], list[str]] = {}
    for place in map(tuple, np.argwhere(apart)):
        here = [x[place] if x.shape == apart.shape else x for x in job.arrays]
        gradients = _texts(*(side[place] for side in sides))
        points.setdefault(gradients, []).append(_call(job, [_array(x) for x in here]))
    return [
        ConventionRow(record.name, form, by, "; ".join(dict.fromkeys(at)), *gradients)
        for gradients, at in points.items()
    ]


def _parameter(record: Operator, name: str) -> str:
    """The argument's name; of a list of arrays, `tensors[1]`."""
    first, *within = name.split(".")
    if first.isdigit():
        ours = jax_side(dataclasses.replace(record, invariant=None))
        names = list(inspect.signature(ours).parameters)
        first = names[min(int(first), len(names) - 1)]
    return first + "".join(f"[{place}]" for place in within)


class _Word(str):
    """Text that stands in a call as it is."""

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
    """Both gradients in as many digits as tell them apart; arrays as flat lists."""
    pairs = [(_value(torch, digits), _value(jax, digits)) for digits in DIGITS]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])


def _value(x: Any, digits: int) -> str:
    x = np.asarray(x)
    x = np.where(np.abs(x) <= FLOOR, 0, x)  # also of -0, whose sign depends on the compiler
    return _list(x.ravel().tolist() if x.ndim else x.item(), digits)
