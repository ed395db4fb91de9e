"""Measure how cost grows with depth, width, batch size and sequence length, as log-log slopes.

A slope of 1 is linear growth. Memory is the number of bytes saved for the backward pass.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

import jaxgrad
from benchmarks.behaviours import BEHAVIOURS
from benchmarks.interleaved import Run, rounds
from benchmarks.networks import Network, cross_entropy, forward, mlp, transformer
from benchmarks.steps import jax_step, torch_step


TITLE = "How cost grows"
AXES: dict[str, tuple[tuple[int, ...], Callable[[int], Network]]] = {
    "depth": ((2, 4, 8, 16, 32, 64), lambda n: mlp(depth=n, width=128, batch=64)),
    "width": ((64, 128, 256, 512, 1024, 2048), lambda n: mlp(depth=4, width=n, batch=64)),
    "batch": ((16, 32, 64, 128, 256, 512, 1024), lambda n: mlp(depth=4, width=256, batch=n)),
    "sequence": ((16, 32, 64, 128, 256, 512), lambda n: transformer(1, 64, 2, sequence=n)),
}
T = TypeVar("T")
DEEP = (16, 64, 256)  # squares, so that the segments have equal lengths
DEEPER = "0.54 from 16 to 256 layers"  # the slope of `peak_bytes` over these depths, held by a test
LINES = ("JAX step", "torch step", "compilation", "bytes saved", "bytes saved, checkpointed")


def cells() -> list[tuple[str, int]]:
    return [(axis, size) for axis, (sizes, _) in AXES.items() for size in sizes]


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """Return, for each axis, its sizes and their costs relative to the smallest size."""
    numbers = {}
    for axis, (sizes, make) in AXES.items():
        points = []
        for size in sizes:
            tick(f"{axis} {size}")
            points.append(_point(make(size)))
            jax.clear_caches()
        lines = {line: [point[line] / points[0][line] for point in points] for line in LINES}
        numbers[axis] = {
            "sizes": sizes,
            "lines": lines,
            "slopes": {line: late_slope(sizes, lines[line]) for line in LINES},
        }
    return numbers


def _point(net: Network) -> dict[str, float]:
    behaviour, (_, params) = BEHAVIOURS["control"](), net.built()
    start = time.perf_counter()
    step = jax_step(net, params, behaviour.with_jaxgrad(net), optax.sgd(1e-2))
    built = time.perf_counter() - start
    runs: dict[str, Run] = {"JAX step": step, "torch step": torch_step(net, behaviour)}
    times = rounds(runs, budget=1.0)
    x, y = jnp.asarray(net.x), jnp.asarray(net.y)

    def plain(params: Any) -> jax.Array:
        return cross_entropy(forward(net.stages, params, x), y)

    return {name: float(np.median(samples)) for name, samples in times.items()} | {
        "compilation": built,
        "bytes saved": jaxgrad.saved_bytes(plain, params),
        "bytes saved, checkpointed": peak_bytes(net, params),
    }


def peak_bytes(net: Network, params: Any) -> int:
    """Return the peak bytes of checkpointing in segments of about sqrt(depth) stages.

    At the peak, all segments' inputs and the largest segment's residuals are stored.
    """
    size = max(1, math.isqrt(len(params)))
    x, y = jnp.asarray(net.x), jnp.asarray(net.y)

    def segment(first: int) -> Callable[[Any, jax.Array], jax.Array]:
        part = slice(first, first + size)
        return lambda params, x: forward(net.stages[part], params[part], x)

    starts = range(0, len(params), size)

    def checkpointed(params: Any) -> jax.Array:
        h = x
        for first in starts:
            h = jax.checkpoint(segment(first))(params, h)
        return cross_entropy(h, y)

    inside, h = 0, x
    for first in starts:
        inside = max(inside, jaxgrad.saved_bytes(segment(first), params, h))
        h = segment(first)(params, h)
    return jaxgrad.saved_bytes(checkpointed, params) + inside


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the slope of a log-log fit, which is the exponent of the growth."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def late_slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the log-log slope of the upper half of the points, where overheads are small."""
    return slope(late(sizes), late(values))


def late(values: Sequence[T]) -> Sequence[T]:
    """Return the upper half of the points of a range."""
    return values[len(values) // 2 - 1 :]


def markdown(numbers: dict[str, Any]) -> Iterator[str]:
    yield (
        "Exponents of growth: slopes of log-log fits over the upper half of each range. An "
        "exponent of 1 is linear growth."
    )
    yield ""
    yield f"| | {' | '.join(LINES)} |"
    yield f"|---|{'---|' * len(LINES)}"
    for axis, row in numbers.items():
        sizes = row["sizes"]
        cells = " | ".join(f"{row['slopes'][line]:.2f}" for line in LINES)
        yield f"| {axis} {sizes[0]} to {sizes[-1]} | {cells} |"
    yield ""
    yield (
        "Depth, width and batch vary in an MLP, sequence in a transformer block. The last column "
        "checkpoints segments of about sqrt(depth) layers. In theory saved memory then grows as "
        f"sqrt(depth), which is an exponent of 0.5, and deeper networks come closer: {DEEPER}."
    )


def figures(numbers: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield a log-log plot for each axis."""
    from matplotlib.figure import Figure

    for axis, row in numbers.items():
        figure = Figure(figsize=(4.6, 3.4), layout="constrained")
        axes = figure.subplots()
        for line, style in zip(LINES, ("o-", "s-", "^:", "o--", "s--"), strict=True):
            label = f"{line}, slope {row['slopes'][line]:.2f}"
            axes.loglog(row["sizes"], row["lines"][line], style, label=label, markersize=4)
        axes.set(xlabel=axis, ylabel="relative to the first point", xticks=row["sizes"])
        axes.set_xticklabels([str(size) for size in row["sizes"]])
        axes.minorticks_off()
        axes.legend(fontsize=7, frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        yield f"growth_{axis}", figure
