"""Time the parity suite: how its time grows with the cells, and what a person waits for."""

from __future__ import annotations

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.growth import late_slope


TITLE = "The parity suite itself"
# Themes of average speed. The last step names none, and so runs every theme.
THEMES = ("freezing", "clipping", "hooks", "surrogate")
STEPS = (THEMES[:1], THEMES, ())
CASE = "hooks/tensor_hook"
# What a person waits for, and how many seconds it should take on two cores.
BARS = {
    "the whole grid, empty cache": 150.0,
    "the whole grid, filled cache": 60.0,
    "the first line of the whole grid, empty cache": 5.0,
    "one case by name, filled cache": 2.5,
}


def cells() -> list[str]:
    grids = [f"{' '.join(step) or 'all'}, {state}" for step in STEPS for state in ("cold", "warm")]
    return [*grids, CASE]


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """Time a growing number of themes, first with an empty and then with a filled cache."""
    rows = []
    labels = iter(cells())
    with tempfile.TemporaryDirectory() as folder:
        caches = [pathlib.Path(folder, str(step)) for step in range(len(STEPS))]
        for themes, cache in zip(STEPS, caches, strict=True):
            row: dict[str, Any] = {}
            for state in ("cold", "warm"):
                tick(next(labels))
                row[state] = _run(themes, cache)
            rows.append(row)
        tick(next(labels))
        alone = [_run((CASE,), caches[-1])["wall"] for _ in range(3)]
    whole = rows[-1]
    waits = (
        whole["cold"]["wall"],
        whole["warm"]["wall"],
        whole["cold"]["first"],
        statistics.median(alone),
    )
    return {"rows": rows, "waits": dict(zip(BARS, waits, strict=True))}


def _run(patterns: tuple[str, ...], cache: pathlib.Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "results.json")
        command = [sys.executable, "-m", "parity_tests", *patterns, "--durations"]
        command += ["--json", str(path)]
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(cache)}
        start = time.perf_counter()
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            lines = [(time.perf_counter() - start, line) for line in process.stdout]
        wall = time.perf_counter() - start
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        results = json.loads(path.read_text())["results"]
    text = "".join(line for _, line in lines)
    compilation = re.search(r"XLA compilation ([\d.]+) s", text)
    assert compilation, "--durations does not print the seconds of compilation"
    seconds = sum(result["seconds"] for result in results)
    return {
        "cells": len(results),
        "wall": wall,
        "seconds": seconds,
        "first": next(after for after, line in lines if " eager " in line),
        "compiled": float(compilation[1]) / seconds,
    }


def markdown(numbers: dict[str, Any]) -> Iterator[str]:
    rows = numbers["rows"]
    yield (
        "A cold run starts with an empty compilation cache on disk, a warm run finds every program "
        "in it. Times are relative to the smallest cold run. Runs of 100 cells or more use several "
        "processes, and the share of compilation is that of the seconds of all cells together."
    )
    yield ""
    yield "| cells | cold | of which compilation | warm | warm / cold |"
    yield "|---|---|---|---|---|"
    base = rows[0]["cold"]["wall"]
    for row in rows:
        cold, warm = row["cold"], row["warm"]
        yield (
            f"| {cold['cells']:.0f} | {cold['wall'] / base:.2f} | {cold['compiled']:.0%} | "
            f"{warm['wall'] / base:.2f} | {warm['wall'] / cold['wall']:.2f} |"
        )
    yield ""
    counts = tuple(int(row["cold"]["cells"]) for row in rows)
    for state in ("cold", "warm"):
        growth = late_slope(counts, [row[state]["seconds"] for row in rows])
        yield f"The seconds of the cells of a {state} run grow as (number of cells)^{growth:.2f}.  "
    yield ""
    yield (
        "These waits have bars in seconds, set for two cores. They depend on the machine, and are "
        "the only absolute times of this page:"
    )
    yield ""
    yield "| wait | bar | here |"
    yield "|---|---|---|"
    for wait, bar in BARS.items():
        yield f"| {wait} | {bar:g} s | {numbers['waits'][wait]:.1f} s |"
