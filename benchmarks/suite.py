"""The parity suite itself: seconds a cell, the share of compilation, growth with the cells."""

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
# Themes that are neither the quickest nor the slowest; each run has those before it too.
THEMES = ("freezing", "clipping", "hooks", "surrogate", "grad_modes", "custom")
STEPS = (1, 2, 4)


def cells() -> list[tuple[str, int]]:
    return [(state, n) for n in STEPS for state in ("cold", "warm")]


def measure(tick: Callable[[str], None]) -> dict[str, Any]:
    """The first themes, cold and then warm, for more and more of them."""
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
    found = re.search(r"XLA compilation ([\d.]+) s", done.stdout)
    assert found, "--durations no longer says what compilation took"
    seconds = sum(result["seconds"] for result in results)
    return {
        "cells": len(results),
        "wall": wall,
        "compiled": float(found[1]) / wall,
        "start": (wall - seconds) / wall,
    }


def markdown(found: dict[str, Any]) -> Iterator[str]:
    rows = found["rows"]
    yield (
        "Cold: nothing is compiled yet; warm: every program is in the cache on disk. Times are "
        "over the smallest cold run; the start is what the imports take."
    )
    yield ""
    yield "| cells | cold | of it compilation | of it the start | warm | warm / cold |"
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
        yield f"Growth with the number of cells, {state}: slope {late_slope(counts, walls):.2f}.  "
