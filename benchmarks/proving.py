"""Measure how the cost of `jaxgrad.parity.prove` grows with the number of layers of a transformer.

Each proof runs in a process of its own, because it compiles programs and because the peak memory of
a process never falls.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.growth import late_slope
from benchmarks.networks import forward, transformer


TITLE = "How the cost of a proof grows"
LAYERS = (1, 2, 4, 8)
LINES = ("proof", "second proof", "memory")


def cells() -> list[tuple[str, int]]:
    return [("layers", n) for n in LAYERS]


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """Return the costs of a proof relative to those for one layer, and their exponents."""
    points = []
    for layers in LAYERS:
        tick(f"{layers} layers")
        command = [sys.executable, "-m", "benchmarks.proving", str(layers)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        points.append(json.loads(done.stdout))
    lines = {line: [point[line] / points[0][line] for point in points] for line in LINES}
    slopes = {line: late_slope(LAYERS, lines[line]) for line in LINES}
    return {"layers": LAYERS, "lines": lines, "slopes": slopes}


def proof(layers: int) -> dict[str, float]:
    """Prove a transformer twice; return the seconds of CPU time and the peak memory in bytes."""
    from jaxgrad.parity import prove

    net = transformer(layers, width=64, batch=2, sequence=32, heads=4)
    module, params = net.built()
    before = peak()
    costs: dict[str, float] = {}
    for name in LINES[:2]:
        start = time.process_time()
        prove(module, lambda p, x: forward(net.stages, p, x), params, (net.x,)).check()
        costs[name] = time.process_time() - start
    return costs | {"memory": peak() - before}


def peak() -> int:
    """Return the peak memory of this process in bytes.

    Where the system has it, the number is that of this program alone: `ru_maxrss` begins with the
    peak of the process that started it.
    """
    try:
        status = pathlib.Path("/proc/self/status").read_text()
        return 1024 * int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0])
    except (OSError, IndexError):
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def markdown(numbers: dict[str, Any]) -> Iterator[str]:
    yield (
        "CPU time and peak memory of `prove`, relative to one layer. The first proof of a process "
        "compiles the operations that the second one finds compiled. The last column is the "
        "exponent of the growth over the upper half of the range; 1 is linear growth."
    )
    yield ""
    yield f"| layers | {' | '.join(map(str, numbers['layers']))} | exponent |"
    yield f"|---|{'---|' * (len(numbers['layers']) + 1)}"
    for line in LINES:
        values = " | ".join(f"{value:.1f}" for value in numbers["lines"][line])
        yield f"| {line} | {values} | {numbers['slopes'][line]:.2f} |"


def figures(numbers: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield a log-log plot of the three costs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    axes = figure.subplots()
    for line, style in zip(LINES, ("o-", "s--", "^:"), strict=True):
        label = f"{line}, slope {numbers['slopes'][line]:.2f}"
        axes.loglog(numbers["layers"], numbers["lines"][line], style, label=label, markersize=4)
    axes.set(xlabel="layers", ylabel="relative to one layer", xticks=numbers["layers"])
    axes.set_xticklabels([str(n) for n in numbers["layers"]])
    axes.minorticks_off()
    axes.legend(fontsize=7, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    yield "growth_proving", figure


if __name__ == "__main__":
    print(json.dumps(proof(int(sys.argv[1]))))
