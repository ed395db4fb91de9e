"""The step counts of all leaves in one vector, so that bias corrections are computed once.

torch counts the steps of each parameter, so the state has a count per leaf. Under `jit`, scalar
arithmetic on each count makes many small kernels, which on a GPU can cost as much as the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat


# Vectors are short, because a GPU limits the number of arguments of a kernel.
_LENGTH = 64


class StepCount(NamedTuple):
    """The step count of one leaf after this step: an element of a vector."""

    counts: jax.Array
    place: int


def stack(counts: Sequence[Any]) -> list[StepCount | None]:
    """Add 1 to the step counts in vectors, and return the place of each.

    Args:
        counts: The step count of each leaf, or None for a leaf that is not updated. The entry in
            the result is None for such a leaf, and for a count that is not a traced float32
            scalar.
    """
    places: list[StepCount | None] = [None] * len(counts)
    traced = [i for i, count in enumerate(counts) if _is_float32_scalar(count)]
    for start in range(0, len(traced), _LENGTH):
        group = traced[start : start + _LENGTH]
        if len(group) > 1:
            after = jnp.stack([counts[i] for i in group]) + 1
            for index, i in enumerate(group):
                places[i] = StepCount(after, index)
    return places


def _is_float32_scalar(count: Any) -> bool:
    return compat.is_traced(count) and count.shape == () and count.dtype == np.float32
