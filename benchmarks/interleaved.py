"""Time programs in rounds in which each runs once, so that disturbances affect all of them."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import torch


Run = Callable[[], Any]


class Cost(NamedTuple):
    """The cost that XLA reports for a compiled program."""

    flops: float
    bytes: float


def cost(fun: Callable[..., Any], *args: Any) -> Cost:
    """Compile a function and return its flops and accessed bytes."""
    return counted(jax.jit(fun).lower(*args).compile())


def counted(compiled: Any) -> Cost:
    """Return the flops and accessed bytes of a compiled program."""
    analysis: Any = compiled.cost_analysis()
    analysis = analysis[0] if isinstance(analysis, list) else analysis
    return Cost(analysis.get("flops", 0.0), analysis.get("bytes accessed", 0.0))


def seconds(run: Run) -> float:
    """Return the seconds of one run, waiting for its results."""
    with _torch() as wait:
        wait()
        start = time.perf_counter()
        jax.block_until_ready(run())
        wait()
        return time.perf_counter() - start


@contextmanager
def _torch() -> Iterator[Callable[[], object]]:
    """Yield a function that waits for torch's GPU, if torch uses one.

    Inside, the CPU is torch's default device as in training scripts: another default slows down
    every call, and optimizers would keep their step counts on the GPU and wait for them.
    """
    device = torch.get_default_device()
    if device.type == "cpu":
        yield lambda: None
        return
    torch.set_default_device(None)
    try:
        yield torch.cuda.synchronize
    finally:
        torch.set_default_device(device)


def rounds(
    runs: Mapping[str, Run],
    budget: float = 2.0,
    at_least: int = 5,
    at_most: int = 41,
    limit: float = math.inf,
) -> dict[str, list[float]]:
    """Run programs in rounds of random order and return each program's seconds per round.

    The order matters because torch's threads spin for a while after a step and slow down the next
    program.

    Args:
        runs: Programs by name.
        budget: Seconds to spend, unless `at_least` rounds take longer.
        at_least: Minimum number of rounds.
        at_most: Maximum number of rounds.
        limit: Seconds after which three rounds are enough, where one of the programs is slow.
    """
    for run in runs.values():
        seconds(run)  # a warm-up, because the first run does one-time work
    names, times = list(runs), {name: [] for name in runs}
    order, spent = random.Random(0), 0.0
    for done in range(at_most):
        if spent >= budget and done >= (at_least if spent < limit else min(3, at_least)):
            break
        order.shuffle(names)
        for name in names:
            times[name].append(seconds(runs[name]))
            spent += times[name][-1]
    return times


def over(times: Mapping[str, list[float]], ours: str, theirs: str) -> float:
    """Return the median over the rounds of the ratio of two programs' times."""
    return statistics.median(a / b for a, b in zip(times[ours], times[theirs], strict=True))


def cell(value: float | str) -> str:
    """Return what a table shows of a ratio, or of the reason why there is none."""
    return value if isinstance(value, str) else f"{value:.2f}"
