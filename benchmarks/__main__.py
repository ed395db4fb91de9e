"""All benchmarks, with one command: `make bench`.

    python -m benchmarks [SECTION ...] [--output DIR]

Writes RESULTS.md, its numbers as results.json and a page with plots. Ratios only: each is a median
over rounds in which all programs of a row take turns.
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
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], metavar="SECTION")
    parser.add_argument("--output", type=pathlib.Path, default=HERE, help="a folder; benchmarks/")
    options = parser.parse_args()
    chosen = {name: SECTIONS[name] for name in options.sections or SECTIONS}
    found = results.load(options.output)
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
            found[name] = {
                "numbers": numbers,
                "machine": results.machine(),
                "minutes": (time.perf_counter() - began) / 60,
            }
            results.write(options.output, found, SECTIONS)  # what is done is not lost
    print(f"{options.output / 'RESULTS.md'} in {(time.perf_counter() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
