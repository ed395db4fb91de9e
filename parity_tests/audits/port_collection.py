"""Port and prove every module of the collection and of `parity_tests.ports`.

python -m parity_tests.audits.port_collection                 every module
python -m parity_tests.audits.port_collection llama gpt2      the modules whose names have this
python -m parity_tests.audits.port_collection --workers 2 --markdown benchmarks/PORT_COLLECTION.md
"""

from __future__ import annotations

import argparse
import functools
import importlib
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof.proofs import proved
from jaxgrad.parity.port.source.refusals import PortError
from parity_tests.audits.planted_bugs import each, load, names
from parity_tests.audits.port_readability import Readability, readability
from parity_tests.audits.written_sources import findings, large_numbers
from parity_tests.runner.settings import configure


PACKAGE = "parity_tests.port_collection"
ROOMS = ("vision", "points", "sequence", "recurrent", "generative", "structured", "agents")


class PortResult(NamedTuple):
    """The result of porting and proving one module."""

    name: str
    room: str
    written: bool
    proved: bool
    seconds: float
    measured: Readability | None
    reason: str  # why it was not written or not proved
    source: str = ""
    large: tuple[int, ...] = ()  # numbers of the port that are greater than the module's


@functools.cache
def entries() -> dict[str, tuple[str, Any]]:
    """Return every module of the collection: its name, its file and its entry."""
    files = {
        room: importlib.import_module(f"parity_tests.port_collection.{room}") for room in ROOMS
    }
    return {name: (room, e) for room, file in files.items() for name, e in file.MODULES.items()}


def example(name: str) -> tuple[nn.Module, Any, list[Any]]:
    """Return a module, its inputs, and the inputs of other sizes."""
    if name in entries():
        entry = entries()[name][1]
        return entry.module(), entry.inputs, [] if entry.also is None else [entry.also]
    pair = load(name).pair()
    return pair["module"], pair["inputs"], list(pair.get("also", []))


def judge(name: str) -> PortResult:
    """Port a module and prove its port."""
    start = time.perf_counter()
    room = entries()[name][0] if name in entries() else "ports"
    module, inputs, also = example(name)
    measured, reason, source, large = None, "", "", ()
    try:
        ported = port(module, inputs, prove=False)
        source = ported.source
        measured = readability(module, source)
        large = tuple(large_numbers(module, inputs, source))
        proved(ported, module, inputs, also, 0)
    except PortError as error:
        reason = str(error)
    done = measured is not None
    seconds = time.perf_counter() - start
    return PortResult(
        name, room, done, done and not reason, seconds, measured, reason, source, large
    )


def faults(rows: Sequence[PortResult]) -> list[str]:
    """Return what a reader would mark in the written files: products of sizes, ruff, pyright."""
    sources = {row.name: row.source for row in rows if row.written}
    numbers = [
        f"{row.name}: {row.large} are numbers of no torch program" for row in rows if row.large
    ]
    return numbers + [
        f"{name}: {text}" for name, found in findings(sources).items() for text in found
    ]


def table(rows: Sequence[PortResult]) -> str:
    """Return the results as a markdown table, followed by the reasons of the refusals."""
    lines = [
        "| module | in | written | proved | seconds | lines torch / port | names kept | "
        "comments kept | median function | longest function |",
        "|---" * 10 + "|",
    ]
    for row in rows:
        m = row.measured
        counts = ["", "", "", "", ""]
        if m is not None:
            counts = [
                f"{m.torch_lines} / {m.port_lines}", f"{m.own_names} of {m.names}",
                f"{m.own_comments} of {m.comments}", f"{m.median:g}", f"{m.longest}",
            ]  # fmt: skip
        marks = ["yes" if x else "no" for x in (row.written, row.proved)]
        cells = [row.name, row.room, *marks, f"{row.seconds:.1f}", *counts]
        lines.append("| " + " | ".join(cells) + " |")
    refused = [f"- **{row.name}**: {row.reason.splitlines()[0]}" for row in rows if row.reason]
    return "\n".join(lines + (["", "Not proved:", "", *refused] if refused else []))


def summary(rows: Sequence[PortResult]) -> list[str]:
    """Return the counts over all modules."""
    measured = [row.measured for row in rows if row.measured is not None]
    n = len(rows) or 1

    def total(field: str) -> int:
        return sum(getattr(m, field) for m in measured)

    def share(part: str, whole: str) -> str:
        return f"{total(part)} of {total(whole)} ({total(part) / (total(whole) or 1):.0%})"

    proven = sum(row.proved for row in rows)
    ratio = total("port_lines") / (total("torch_lines") or 1)
    return [
        f"{len(rows)} modules, {sum(row.written for row in rows)} written, {proven} proved "
        f"({proven / n:.0%})",
        f"{total('port_lines')} lines of code for {total('torch_lines')} of the torch classes "
        f"(ratio {ratio:.2f})",
        f"{share('own_names', 'names')} variables have a name of the torch source",
        f"{share('own_comments', 'comments')} comments of the torch methods are in the port",
        f"longest function {max((m.longest for m in measured), default=0)} lines, widest line "
        f"{max((m.widest for m in measured), default=0)}, "
        f"{total('numbered')} names such as `add_17`",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of a module's name")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="use N processes")
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args(argv)
    configure()
    known = [*entries(), *(name for name in names() if name not in entries())]
    chosen = [n for n in known if not options.patterns or any(p in n for p in options.patterns)]
    rows = []
    for row in each(judge, [(name,) for name in chosen], options.workers):
        mark = "proved" if row.proved else "NOT PROVED" if row.written else "REFUSED"
        print(f"[{len(rows) + 1}/{len(chosen)}] {mark} {row.name} {row.seconds:.1f} s", flush=True)
        if row.reason:
            print(f"    {row.reason}", flush=True)
        rows.append(row)
    print("\n".join(summary(rows)))
    marked = faults(rows)
    print(
        "\n".join(marked or ["ruff and pyright find nothing, and no number is a product of sizes"])
    )
    if options.markdown:
        text = "\n\n".join(["\n".join(f"- {x}" for x in summary(rows)), table(rows)])
        options.markdown.write_text(text + "\n")
    enough = rows and sum(row.proved for row in rows) >= 0.9 * len(rows)
    return 0 if enough and not marked else 1


if __name__ == "__main__":
    sys.exit(main())
