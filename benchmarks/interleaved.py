"""Two programs side by side: medians of pairs run in turn, so that a busy machine slows both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax


class Cost(NamedTuple):
    """What XLA counts in a compiled program."""

    flops: float
    bytes: float


def cost(fun: Callable[..., Any], *args: Any) -> Cost:
    """The flops and the bytes accessed of the compiled program."""
    found: Any = jax.jit(fun).lower(*args).compile().cost_analysis()
    found = found[0] if isinstance(found, list) else found
    return Cost(found.get("flops", 0.0), found.get("bytes accessed", 0.0))


def seconds(run: Callable[[], Any]) -> float:
    """One run, to its end."""
    start = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - start


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any], pairs: int = 15) -> float:
    """The median of ours / theirs over pairs of runs; who goes first takes turns."""
    for run in (ours, theirs):
        seconds(run)
    found = []
    for pair in range(pairs):
        times = {}
        for run in (ours, theirs) if pair % 2 else (theirs, ours):
            times[run] = seconds(run)
        found.append(times[ours] / times[theirs])
    return statistics.median(found)
