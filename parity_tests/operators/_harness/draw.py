"""Strategies that records in several folders share, and the fixed list of calls a strategy yields.

A record is written as a Hypothesis strategy, because its combinators describe a call well. The
suite must draw the same calls in every run and process, whatever modules are imported, so the
choices come from `SeededProvider`, one generator seeded with the operator's name. Nothing is shrunk
or stored: a failing call is part of the fixed list, and its repr is in the failure.
"""

import functools
import itertools
import os
import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, PrimitiveProvider

from parity_tests.operators import Operator, Sample, call


def shapes(low: int = 0, high: int = 3, side: int = 4, least: int = 1) -> st.SearchStrategy[Any]:
    """Draw a shape with `low` to `high` dimensions of `least` to `side` elements each."""
    return st.lists(st.integers(least, side), min_size=low, max_size=high).map(tuple)


@st.composite
def floats(
    draw: Any, shape: Any = None, low: float = -3.0, high: float = 3.0, dims: int = 0
) -> np.ndarray:
    """Draw a uniform float64 array in [low, high), with the given shape or a drawn one."""
    shape = draw(shapes(low=dims)) if shape is None else shape
    return np.asarray(_generator(draw).uniform(low, high, shape))


@st.composite
def integers(draw: Any, shape: Any, low: int, high: int) -> np.ndarray:
    """Draw an int64 array in [low, high), such as indices or labels."""
    return np.asarray(_generator(draw).integers(low, high, shape))


@st.composite
def masks(draw: Any, shape: Any) -> np.ndarray:
    """Draw a boolean array."""
    return np.asarray(_generator(draw).random(shape) < 0.5)


@st.composite
def broadcast(draw: Any, count: int = 2) -> list[tuple[int, ...]]:
    """Draw shapes that broadcast together; some lack dimensions or have dimensions of size 1."""
    full = draw(shapes())
    chosen = []
    for _ in range(count):
        kept = tuple(draw(st.sampled_from([n, n, 1])) for n in full)
        chosen.append(kept[draw(st.sampled_from([0, 0, len(kept) // 2])) :])
    return chosen


WIDENED = st.sampled_from([{}, {}, {"dtype": "float64"}])  # the dtype of the result


def dims(ndim: int) -> st.SearchStrategy[int]:
    """Draw a dimension of an array, counted from either end; 0 or -1 for a 0-d array."""
    return st.integers(-max(ndim, 1), max(ndim, 1) - 1)


@st.composite
def dim_sets(draw: Any, ndim: int) -> Any:
    """Draw None, one dimension, or several distinct ones, counted from either end."""
    if not ndim:
        return draw(st.sampled_from([None, -1]))
    several = st.lists(st.integers(0, ndim - 1), min_size=1, max_size=ndim, unique=True)
    chosen = [d - ndim if draw(st.booleans()) else d for d in draw(several)]
    return draw(st.sampled_from([None, chosen[0], tuple(chosen)]))


def one_or_each(draw: Any, places: int, low: int, high: int) -> int | tuple[int, ...]:
    """Draw one integer in [low, high] for all dimensions, or one integer per dimension."""
    several = st.tuples(*[st.integers(low, high)] * places)
    return draw(st.one_of(st.integers(low, high), several))


def within(low: float, high: float) -> Callable[..., Sample]:
    """Return a strategy for an operator of one array, which is drawn from [low, high)."""
    return lambda draw: call(draw(floats(low=low, high=high)))


def pairs(left: Sequence[float], right: Sequence[float]) -> list[np.ndarray]:
    """Return all pairs of a number from `left` and a number from `right`, as two arrays."""
    return [np.array(side) for side in zip(*itertools.product(left, right), strict=True)]


def _generator(draw: Any) -> np.random.Generator:
    return np.random.default_rng(draw(st.integers(0, 2**16)))


class SeededProvider(PrimitiveProvider):
    """Make Hypothesis' choices with one seeded generator.

    Hypothesis' default provider prefers constants that occur in the imported modules, so its
    choices depend on the tests that ran before.
    """

    seed = 0
    lifetime = "test_function"

    def __init__(self, conjecturedata: Any, /) -> None:
        super().__init__(conjecturedata)
        self._random = random.Random(SeededProvider.seed)

    def draw_boolean(self, p: float = 0.5) -> bool:
        return self._random.random() < p

    def draw_integer(
        self, min_value: int | None = None, max_value: int | None = None, **_: Any
    ) -> int:
        low = -(2**16) if min_value is None else min_value
        return self._random.randint(low, low + 2**17 if max_value is None else max_value)

    def draw_float(
        self, *, min_value: float = -np.inf, max_value: float = np.inf, **_: Any
    ) -> float:
        return self._random.uniform(max(min_value, -1e3), min(max_value, 1e3))

    def draw_string(self, *_: Any, **__: Any) -> str:
        raise NotImplementedError(
            "draw text with st.sampled_from: a seeded strategy has no free text"
        )

    def draw_bytes(self, *_: Any, **__: Any) -> bytes:
        raise NotImplementedError("no operator accepts bytes")


AVAILABLE_PROVIDERS["seeded"] = f"{__name__}.SeededProvider"


def fuzz_seed() -> str:
    """Return `OPERATOR_SEED` of the environment, which is empty except when fuzzing."""
    return os.environ.get("OPERATOR_SEED", "")


def drawn(record: Operator) -> Sequence[Sample]:
    """Draw the calls of a record's strategy, which are the same in every run.

    With a fuzz seed, the calls differ and the number of programs is not limited.

    Raises:
        ValueError: `max_programs` is so small that the strategy yields too few distinct calls.
    """
    return _drawn(record, fuzz_seed())


@functools.cache
def _drawn(record: Operator, seed: str) -> Sequence[Sample]:
    samples: list[Sample] = []
    programs: set[str] = set()
    most = record.num_samples if seed or record.max_programs is None else record.max_programs
    SeededProvider.seed = zlib.crc32(f"{record.name} {seed}".encode())

    @settings(
        backend="seeded",
        max_examples=record.num_samples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
    @given(st.composite(record.strategy)())
    def collect(sample: Sample) -> None:
        program = _program(sample)
        assume(program in programs or len(programs) < most)
        programs.add(program)
        samples.append(sample)

    collect()
    if len(samples) < record.num_samples and most < record.num_samples:
        raise ValueError(
            f"{record.name}: `max_programs={most}` admits only {len(samples)} distinct calls; "
            "increase `max_programs`"
        )
    return tuple(samples)


def _program(sample: Sample) -> str:
    """Return the shapes, dtypes and options of a call, which determine its compiled program."""
    leaves, treedef = jax.tree.flatten((sample.args, sample.kwargs))
    shown = [(x.shape, x.dtype) if isinstance(x, np.ndarray) else x for x in leaves]
    return f"{shown} {treedef}"
