"""Lower every public function for a GPU and a TPU, and write the table of docs/accelerators.md.

    make exports

Neither device is needed: JAX lowers a program for a platform that is not there. What XLA and the
drivers then do with it is seen only on the device. Exit status: 1 if an entry of `EXPECTED` is
missing or new, or if a public function is called by no program; else 0.
"""

import argparse
import collections
import json
import pathlib
import re
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

from parity_tests.devices import coverage
from parity_tests.devices.program import Refusal, refusals
from parity_tests.devices.programs import programs
from parity_tests.runner.environment import versions
from parity_tests.runner.settings import ROOT, configure


PAGE = ROOT / "docs" / "accelerators.md"
RECORD = ROOT / "benchmarks" / "exports.json"
BEGIN, END = "<!-- exports:begin -->", "<!-- exports:end -->"
# What JAX cannot lower for a device. A program that no device can trace, such as an operator that
# rejects bfloat16 as torch does, is listed in the table but needs no entry.
EXPECTED = {
    ("operators/linalg.eig", "TPU"),
    ("operators/linalg.eigvals", "TPU"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Lower the programs whose id contains a pattern; without patterns, write the table."""
    parser = argparse.ArgumentParser(prog="python -m parity_tests.devices.exports")
    parser.add_argument("patterns", nargs="*", help="parts of ids, such as operators/linalg")
    options = parser.parse_args(argv)
    configure()
    chosen = [p for p in programs() if not options.patterns or _any(options.patterns, p.id)]
    if not chosen:
        print(f"no program's id contains {' or '.join(options.patterns)}", file=sys.stderr)
        return 2
    start, found = time.perf_counter(), list[Refusal]()
    with coverage.calls() as codes:
        for program in chosen:
            new = refusals(program)
            found += new
            for refusal in new:
                print(f"{refusal.program}: not on {refusal.devices}: {refusal.reason}", flush=True)
    print(f"{len(chosen)} programs in {(time.perf_counter() - start) / 60:.1f} minutes")
    problems = unexpected(found)
    if not options.patterns:
        problems += [
            f"no program calls jaxgrad.{name}: add one to parity_tests/devices, or name it in "
            "`coverage.ON_THE_HOST`"
            for name in coverage.not_called(codes)
        ]
        counts = collections.Counter((p.group, p.dtype) for p in chosen)
        about = versions()
        record = {
            "versions": {key: about[key] for key in ("python", "jax", "jaxlib", "date")},
            "programs": [[*key, count] for key, count in counts.items()],
            "refusals": [vars(refusal) for refusal in found],
        }
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
        write(PAGE, record)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _any(patterns: Iterable[str], id: str) -> bool:
    return any(pattern in id for pattern in patterns)


def unexpected(found: Iterable[Refusal]) -> list[str]:
    """Describe each program that a device refuses and `EXPECTED` does not name."""
    return [
        f"{refusal.program} cannot be lowered for {refusal.devices}: {refusal.reason}"
        for refusal in found
        if refusal.devices != "any device"
        and (refusal.program.rpartition("/")[0], refusal.devices) not in EXPECTED
    ]


def write(page: pathlib.Path, record: dict[str, Any]) -> None:
    """Replace the table between the markers of the page."""
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n{table(record)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def table(record: dict[str, Any]) -> str:
    """Return the counts of a record and its exceptions as two tables."""
    found = [Refusal(**{**entry, "calls": tuple(entry["calls"])}) for entry in record["refusals"]]
    whole = [r for r in found if r.calls[0] == r.calls[1]]
    lines = ["| what | dtype | programs | lowered for both |", "|---|---|---|---|"]
    for group, dtype, count in record["programs"]:
        refused = {r.program for r in found if re.fullmatch(f"{group}/.*/{dtype}", r.program)}
        lines.append(f"| {group} | {dtype} | {count} | {count - len(refused)} |")
    about = record["versions"]
    lines += [
        "",
        f"Lowered with JAX {about['jax']} on {about['date'][:10]}. The exceptions:",
        "",
        "| program | dtype | not on | reason |",
        "|---|---|---|---|",
    ]
    by_reason: dict[tuple[str, ...], list[str]] = {}
    for refusal in found:
        group, _, rest = refusal.program.partition("/")
        name, _, dtype = rest.rpartition("/")
        some = "" if refusal in whole else f", {refusal.calls[0]} of {refusal.calls[1]} calls"
        key = (dtype, refusal.devices, refusal.reason.replace("|", "\\|"))
        by_reason.setdefault(key, []).append(f"`{name}`{some}")
    for (dtype, devices, reason), names in sorted(by_reason.items(), key=lambda x: x[0][1]):
        lines.append(f"| {'; '.join(names)} | {dtype} | {devices} | {reason} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
