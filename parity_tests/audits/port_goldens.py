"""Keep what `jaxgrad.port` writes as files, so that a change of the porter is read.

python -m parity_tests.audits.port_goldens                     write every golden again
python -m parity_tests.audits.port_goldens llama test_scans    those whose names have one of these
python -m parity_tests.audits.port_goldens --check --workers 2    compare, and print the diffs

The goldens are in tests/goldens/port. The modules are those of the collection, of its gradient
behaviours and operators, of `parity_tests/ports`, of the gallery in docs/port.md, and all that the
porter's tests give to `port`. A comparison needs no proofs, so that a few tests end early; the last
line says how many sources were compared.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from jaxgrad.parity.port.port import Request
from jaxgrad.parity.port.proof.verifying import STYLES, silent
from parity_tests.audits import golden_ports
from parity_tests.audits.golden_ports import NO_PROOFS, PATTERNS, TESTS, VARIABLE, Sources
from parity_tests.audits.planted_bugs import each, names
from parity_tests.audits.port_collection import entries, example
from parity_tests.port_collection import gallery
from parity_tests.port_collection.behaviours import BEHAVIOURS
from parity_tests.port_collection.operators import OPERATORS
from parity_tests.runner.settings import ROOT, configure


def modules() -> dict[str, Callable[[], tuple[nn.Module, Any]]]:
    """Return every module that no test defines, with its inputs, by the name of its goldens."""
    known: dict[str, Callable[[], tuple[nn.Module, Any]]] = {}
    for name in (*entries(), *(name for name in names() if name not in entries())):
        folder = "collection" if name in entries() else "ports"
        known[f"{folder}/{name}"] = functools.partial(lambda name: example(name)[:2], name)
    small = {f"behaviours/{name}": behaviour.entry for name, behaviour in BEHAVIOURS.items()}
    small |= {f"operators/{name}": entry for name, entry in OPERATORS.items()}
    for name, entry in small.items():
        known[name] = lambda entry=entry: (entry.module(), entry.inputs)
    for name in gallery.INPUTS:
        known[f"gallery/{name}"] = functools.partial(gallery.example, name)
    return known


def written(name: str) -> tuple[str, Sources, float]:
    """Return a module's name, the texts of its port by style, and the seconds that it took."""
    start = time.perf_counter()
    module, inputs = modules()[name]()
    request = Request(module, inputs, (), None, "functions", False, False, False, 0, silent, None)
    sources = {
        style: golden_ports.masked(golden_ports.text_of(dataclasses.replace(request, style=style)))
        for style in STYLES
    }
    return name, sources, time.perf_counter() - start


def write_modules(chosen: Sequence[str], folder: pathlib.Path, workers: int) -> None:
    """Write the goldens of modules into a folder."""
    for done, (name, sources, seconds) in enumerate(
        each(written, [(name,) for name in chosen], workers), 1
    ):
        print(f"[{done}/{len(chosen)}] {name} {seconds:.1f} s", flush=True)
        for style, text in sources.items():
            path = golden_ports.path_of(name, style, folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def write_tests(
    patterns: Sequence[str], folder: pathlib.Path, workers: int, *, proofs: bool
) -> None:
    """Run the porter's tests, which write their goldens into a folder.

    Args:
        patterns: Parts of the names of goldens; none for all.
        folder: The folder in which they are written.
        workers: The number of processes.
        proofs: Whether ports are proved. Without it a test may end early, as its golden says.
    """
    variables = {"TEST_ALL": "1", VARIABLE: str(folder), PATTERNS: "\n".join(patterns)}
    if not proofs:
        variables[NO_PROOFS] = "1"
    split = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
    options = ["-q", "--no-header", "-p", "no:cacheprovider", *split, str(TESTS)]
    command = [sys.executable, "-m", "pytest", *options]
    subprocess.run(command, cwd=ROOT, env=os.environ | variables)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of a golden's name")
    parser.add_argument("--check", action="store_true", help="compare instead, without proofs")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="use N processes")
    options = parser.parse_args(argv)
    if options.check and not golden_ports.comparable():
        wanted, installed = golden_ports.kept_versions(), golden_ports.versions()
        parser.error(f"the goldens are of {wanted}, and {installed} is installed")
    configure()
    start = time.perf_counter()
    patterns = options.patterns
    chosen = [name for name in modules() if golden_ports.matches(name, patterns)]
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        write_modules(chosen, folder, options.workers)
        # A pattern that no golden has may be that of a new test.
        known = [
            name
            for name in golden_ports.files(golden_ports.FOLDER, patterns)
            if name.startswith("tests/")
        ]
        if not patterns or not chosen or known:
            write_tests(patterns, folder, options.workers, proofs=False)
            if not options.check and (again := golden_ports.ended(folder)):
                write_tests(again, folder, options.workers, proofs=True)
        changed = 0
        if options.check:
            changed = golden_ports.compare(folder, patterns)
        elif golden_ports.files(folder):
            golden_ports.keep(folder, patterns)
        nothing = not golden_ports.files(folder)
    print(f"{time.perf_counter() - start:.0f} s")
    return 1 if changed or nothing else 0


if __name__ == "__main__":
    sys.exit(main())
