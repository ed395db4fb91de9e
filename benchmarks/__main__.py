"""Run the benchmarks (`make bench`).

    python -m benchmarks [SECTION ...] [--device cpu|gpu] [--rows PART ...] [--output DIR]

The results are written to RESULTS.md, results.json and a page with plots. All times are ratios:
medians over rounds, and in each round every program of a row runs once. On a GPU only the sections
run that time programs there, and their results go to the folder benchmarks/gpu.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

import jax
import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import (
    claims,
    compiled,
    functional,
    growth,
    optimizers,
    proof_cost,
    proving,
    results,
    suite,
    training,
    written,
)


SECTIONS: dict[str, Any] = {
    "training": training,
    "compile": compiled,
    "optimizers": optimizers,
    "written": written,
    "functional": functional,
    "claims": claims,
    "growth": growth,
    "proving": proving,
    "proof": proof_cost,
    "suite": suite,
}
ON_REQUEST = ("compile", "proof")  # an hour and half an hour
ON_GPU = ("training", "optimizers", "written", "claims", "growth")
HERE = pathlib.Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0]
    )
    sections = (
        f"any of {', '.join(SECTIONS)} (default: all but {', '.join(ON_REQUEST)}; with gpu "
        f"{', '.join(ON_GPU)})"
    )
    parser.add_argument(
        "sections", nargs="*", choices=[*SECTIONS, []], metavar="SECTION", help=sections
    )
    parser.add_argument(
        "--rows", nargs="+", default=(), metavar="PART",
        help=f"with {' or '.join(ON_REQUEST)}: parts of the names of rows; the others keep theirs",
    )  # fmt: skip
    device = "device of both frameworks (default: cpu)"
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu", help=device)
    output = "folder of the results (default: benchmarks/, or benchmarks/gpu/ with gpu)"
    parser.add_argument("--output", type=pathlib.Path, help=output)
    options = parser.parse_args()
    use_device(parser, options.device)
    possible = ON_GPU if options.device == "gpu" else tuple(SECTIONS)
    usual = [name for name in possible if name not in ON_REQUEST]
    chosen = {name: SECTIONS[name] for name in options.sections or usual}
    if not {*chosen} <= {*possible}:
        parser.error(f"on a GPU the sections are {', '.join(possible)}")
    by_row = [SECTIONS[name] for name in ON_REQUEST if name in chosen]
    if options.rows and not any(section.cells(options.rows) for section in by_row):
        parser.error(f"no row's name contains {' or '.join(options.rows)}")
    folder = options.output or (HERE / "gpu" if options.device == "gpu" else HERE)
    folder.mkdir(parents=True, exist_ok=True)
    records = results.load(folder)
    start = time.perf_counter()
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    ) as progress:
        total = sum(len(section.cells()) for section in chosen.values())
        task = progress.add_task("", total=total)
        for name, section in chosen.items():

            def tick(label: str, name: str = name) -> None:
                progress.update(task, description=f"{name}: {label}")
                progress.advance(task)

            began = time.perf_counter()
            if name in ON_REQUEST:
                known = records.get(name, {}).get("numbers", {})
                numbers = section.measure(tick, options.rows, known)
            else:
                numbers = section.measure(tick)
            records[name] = {
                "numbers": numbers,
                "machine": results.machine(),
                "minutes": (time.perf_counter() - began) / 60,
            }
            results.write(folder, records, SECTIONS)  # saved in case of an interruption
    print(f"{folder / 'RESULTS.md'} in {(time.perf_counter() - start) / 60:.1f} minutes")


def use_device(parser: argparse.ArgumentParser, device: str) -> None:
    """Check that JAX and torch use a device; on a GPU both multiply float32 in float32."""
    if jax.default_backend() != device:
        backend = jax.default_backend()
        parser.error(
            f"JAX uses the {backend} here, not the {device}; JAX_PLATFORMS selects another"
        )
    if device == "cpu":
        return
    if not torch.cuda.is_available():
        parser.error(f"torch {torch.__version__} finds no CUDA device here, only the CPU")
    torch.set_default_device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    jax.config.update("jax_default_matmul_precision", "highest")


if __name__ == "__main__":
    main()
