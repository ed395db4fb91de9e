"""The drawn calls of an operator's record as functions of arrays, for tools that only trace."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity_tests.operators import Operator, jax_side
from parity_tests.operators._harness.draw import drawn
from parity_tests.operators._harness.jobs import Job, job


def calls(
    record: Operator, dtype: str
) -> Iterator[tuple[Callable[..., Any], tuple[np.ndarray, ...]]]:
    """Yield JAX's function of a call's arrays, and the arrays in a dtype, for each drawn call."""
    options = {"torch_gradient": True} if record.torch_gradient else {}
    fun = functools.partial(jax_side(record), **options)
    for sample in drawn(record):
        one = job("", sample, dtype)
        yield functools.partial(_rebuilt, fun, one), tuple(one.arrays)


def _rebuilt(fun: Callable[..., Any], one: Job, *arrays: Any) -> Any:
    args, kwargs = one.rebuild(arrays)
    return fun(*args, **kwargs)
