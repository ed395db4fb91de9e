"""Inject faults into the emitter of `jaxgrad.port`, and record whether the proof finds them.

python -m parity_tests.audits.emitter_kill_table              every fault
python -m parity_tests.audits.emitter_kill_table --sample 5   a fixed sample
python -m parity_tests.audits.emitter_kill_table hook --workers 2
"""

from __future__ import annotations

import argparse
import pathlib
import random
import re
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.proofs import proved
from jaxgrad.parity.port.source.refusals import PortError
from parity_tests.audits.emitter_faults import AT_A_KINK, FAULTS, Fault
from parity_tests.audits.planted_bugs import each
from parity_tests.port_collection.behaviours import BEHAVIOURS
from parity_tests.port_collection.entry import Entry
from parity_tests.port_collection.operators import OPERATORS
from parity_tests.runner.settings import configure


class Kill(NamedTuple):
    """One fault and whether it was found."""

    name: str
    on: str
    found: bool
    by: str  # "proof", "emitter", or "nothing"
    changed: bool  # whether the port differs from the right one: its source or its params
    reported: str
    seconds: float
    unseen: str  # why no proof can find it


def entry_of(name: str) -> Entry:
    """Return a module of the collection by its name."""
    return OPERATORS[name] if name in OPERATORS else BEHAVIOURS[name].entry


def judge(name: str) -> Kill:
    """Port and prove a fault's module with the fault."""
    (fault,) = [f for f in FAULTS if f.name == name]
    return judge_fault(fault)


def judge_fault(fault: Fault) -> Kill:
    start = time.perf_counter()
    example = entry_of(fault.on)
    module, inputs = example.module(), example.inputs
    also = [] if example.also is None else [example.also]
    right = _written(port(module, inputs, prove=False), module)
    by, reported, changed = "nothing", "", False
    with fault.plant():
        try:
            ported = port(module, inputs, prove=False)
            changed, by = _written(ported, module) != right, "proof"
            proved(ported, module, inputs, also, 0)
            by = "nothing"
        except PortError as error:
            by, reported = by if changed or by == "proof" else "emitter", str(error)
    seconds = time.perf_counter() - start
    return Kill(
        fault.name, fault.on, by != "nothing", by, changed, _first(reported), seconds, fault.unseen
    )


def _written(ported: Ported, module: nn.Module) -> tuple[Any, ...]:
    """Return what the emitter writes: the source, the params, and which of them are trained."""
    leaves, tree = jax.tree.flatten((ported.params(module.state_dict()), ported.trainable))
    return ported.source, tree, [np.asarray(x).tolist() for x in leaves]


def _first(report: str) -> str:
    """Return the line of a report that says what differs."""
    lines = [line.strip() for line in report.splitlines()]
    failing = [x for x in lines if re.match(r"\w+ +(fail|inconclusive)\b", x)]
    raised = [x for x in lines if x.startswith("JAX: ")]
    line = next(iter([*failing, *raised, *lines]), "")
    return re.sub(r" +", " ", line).replace("|", "\\|")


def table(rows: Sequence[Kill]) -> str:
    """Return the results as a markdown table."""
    lines = ["| fault | on | found by | reported |", "|---|---|---|---|"]
    lines += [f"| {r.name} | {r.on} | {r.by} | {r.reported or r.unseen} |" for r in rows]
    return "\n".join(lines)


def summary(rows: Sequence[Kill]) -> list[str]:
    """Return the counts of faults that were found."""
    unseen = sum(bool(r.unseen) and not r.found for r in rows)
    found, proofs = sum(r.found for r in rows), sum(r.by == "proof" for r in rows)
    return [
        f"{len(rows)} faults of the emitter, each on a small module that shows it",
        f"{found} found ({found / (len(rows) or 1):.0%}): {proofs} by the proof, {found - proofs} "
        "by the emitter, which refused to write the port",
        f"{unseen} of the others cannot be found: {AT_A_KINK}",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of a fault's name")
    parser.add_argument("--sample", type=int, metavar="N", help="run a fixed sample of N faults")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="use N processes")
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args(argv)
    configure()
    names = [f.name for f in FAULTS]
    chosen = [n for n in names if not options.patterns or any(p in n for p in options.patterns)]
    if options.sample is not None and options.sample < len(chosen):
        chosen = sorted(random.Random(0).sample(chosen, options.sample), key=names.index)
    rows = []
    for row in each(judge, [(name,) for name in chosen], options.workers):
        mark = "found" if row.found else "unseen" if row.unseen else "MISSED"
        note = "" if row.changed else " (the port is unchanged)"
        print(f"[{len(rows) + 1}/{len(chosen)}] {mark} {row.name} on {row.on} by {row.by}{note}: "
              f"{row.reported} {row.seconds:.1f} s", flush=True)  # fmt: skip
        rows.append(row)
    print("\n".join(summary(rows)))
    if options.markdown:
        lines = [f"- {x}" for x in summary(rows)]
        options.markdown.write_text("\n\n".join(["\n".join(lines), table(rows)]) + "\n")
    return 0 if rows and all(row.found or row.unseen for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
