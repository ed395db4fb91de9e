"""Programs side by side: medians of rounds in which each runs once, so that all suffer alike."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax


Run = Callable[[], Any]


class Cost(NamedTuple):
    """What XLA counts in a compiled program."""

    flops: float
    bytes: float


def cost(fun: Callable[..., Any], *args: Any) -> Cost:
    """The flops and the bytes accessed of the compiled program."""
    return counted(jax.jit(fun).lower(*args).compile())


def counted(compiled: Any) -> Cost:
    """The same, of a program that is compiled."""
    found: Any = compiled.cost_analysis()
    found = found[0] if isinstance(found, list) else found
    return Cost(found.get("flops", 0.0), found.get("bytes accessed", 0.0))


def seconds(run: Run) -> float:
    """One run, to its end."""
    start = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - start


def rounds(
    runs: Mapping[str, Run], budget: float = 2.0, at_least: int = 5, at_most: int = 41
) -> dict[str, list[float]]:
    """Each program's seconds, a number a round, in another order each time.

    The order matters: torch's threads spin for a while after its step, and slow what comes next.

    Args:
        runs: programs by name, ready to run.
        budget: seconds to spend, more where `at_least` rounds take more.
        at_least: rounds.
        at_most: rounds.
    """
    for run in runs.values():
        seconds(run)  # what the first run alone does
    names, found = list(runs), {name: [] for name in runs}
    order, spent = random.Random(0), 0.0
    while len(found[names[0]]) < at_most and (spent < budget or len(found[names[0]]) < at_least):
        order.shuffle(names)
        for name in names:
            found[name].append(seconds(runs[name]))
            spent += found[name][-1]
    return found


def over(found: Mapping[str, list[float]], ours: str, theirs: str) -> float:
    """The median over the rounds of ours / theirs."""
    return statistics.median(a / b for a, b in zip(found[ours], found[theirs], strict=True))
