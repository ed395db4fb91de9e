"""Time the parity suite: growth with the number of cells, and the share of compilation."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.growth import late_slope


TITLE = "The parity suite itself"
# Themes of average speed; each run adds themes to those of the previous run.
THEMES = ("freezing", "clipping", "hooks", "surrogate", "grad_modes", "custom")
STEPS = (1, 2, 4)


def cells() -> list[tuple[str, int]]:
    return [(state, n) for n in STEPS for state in ("cold", "warm")]


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """Time a growing number of themes, first with an empty and then with a filled cache."""
    rows = []
    for count in STEPS:
        row: dict[str, Any] = {}
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                tick(f"{count} themes, {state}")
                row[state] = _run(THEMES[:count], cache)
        rows.append(row)
    return {"rows": rows}


def _run(themes: tuple[str, ...], cache: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "results.json")
        command = [sys.executable, "-m", "parity_tests", *themes, "--durations"]
        command += ["--json", str(path)]
        start = time.perf_counter()
        done = subprocess.run(
            command,
            env={**os.environ, "JAX_COMPILATION_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=True,
        )
        wall = time.perf_counter() - start
        results = json.loads(path.read_text())["results"]
    compilation = re.search(r"XLA compilation ([\d.]+) s", done.stdout)
    assert compilation, "--durations does not print the seconds of compilation"
    seconds = sum(result["seconds"] for result in results)
    return {
        "cells": len(results),
        "wall": wall,
        "compiled": float(compilation[1]) / wall,
        "start": (wall - seconds) / wall,
    }


def markdown(numbers: dict[str, Any]) -> Iterator[str]:
    rows = numbers["rows"]
    yield (
        "A cold run starts with an empty compilation cache on disk, a warm run finds every program "
        "in it. Times are relative to the smallest cold run; startup is the time of the imports. "
        "Runs of 100 cells or more use several processes, whose seconds are added up for the "
        "shares of compilation and startup, so a share can exceed 100% or be negative."
    )
    yield ""
    yield "| cells | cold | of which compilation | of which startup | warm | warm / cold |"
    yield "|---|---|---|---|---|---|"
    base = rows[0]["cold"]["wall"]
    for row in rows:
        cold, warm = row["cold"], row["warm"]
        yield (
            f"| {cold['cells']:.0f} | {cold['wall'] / base:.2f} | {cold['compiled']:.0%} | "
            f"{cold['start']:.0%} | {warm['wall'] / base:.2f} | {warm['wall'] / cold['wall']:.2f} |"
        )
    yield ""
    counts = tuple(int(row["cold"]["cells"]) for row in rows)
    for state in ("cold", "warm"):
        walls = [row[state]["wall"] * (1 - row[state]["start"]) for row in rows]
        growth = late_slope(counts, walls)
        yield f"The time of a {state} run grows as (number of cells)^{growth:.2f}.  "
