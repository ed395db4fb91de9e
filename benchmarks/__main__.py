"""Run the benchmarks (`make bench`).

    python -m benchmarks [SECTION ...] [--output DIR]

The results are written to RESULTS.md, results.json and a page with plots. All times are ratios:
medians over rounds, and in each round every program of a row runs once.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import claims, functional, growth, optimizers, results, suite, training


SECTIONS: dict[str, Any] = {
    "training": training,
    "optimizers": optimizers,
    "functional": functional,
    "claims": claims,
    "growth": growth,
    "suite": suite,
}
HERE = pathlib.Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0]
    )
    sections = f"any of {', '.join(SECTIONS)} (default: all)"
    parser.add_argument(
        "sections", nargs="*", choices=[*SECTIONS, []], metavar="SECTION", help=sections
    )
    output = "folder of the results (default: benchmarks/)"
    parser.add_argument("--output", type=pathlib.Path, default=HERE, help=output)
    options = parser.parse_args()
    chosen = {name: SECTIONS[name] for name in options.sections or SECTIONS}
    records = results.load(options.output)
    start = time.perf_counter()
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    ) as progress:
        task = progress.add_task("", total=sum(len(s.cells()) for s in chosen.values()))
        for name, section in chosen.items():

            def tick(label: str, name: str = name) -> None:
                progress.update(task, description=f"{name}: {label}")
                progress.advance(task)

            began = time.perf_counter()
            numbers = section.measure(tick)
            records[name] = {
                "numbers": numbers,
                "machine": results.machine(),
                "minutes": (time.perf_counter() - began) / 60,
            }
            results.write(options.output, records, SECTIONS)  # saved in case of an interruption
    print(f"{options.output / 'RESULTS.md'} in {(time.perf_counter() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
