"""Write docs/versions.md from the records of `make matrix` and `make device`.

    python -m parity_tests.site.versions

This file needs only the standard library, because `make matrix` runs it outside of any environment.
"""

import collections
import sys
from collections.abc import Iterator
from typing import Any

from parity_tests.audits.environments import ROOT
from parity_tests.audits.version_matrix import ENTRIES, RUNS, read, records_in


PAGE = ROOT / "docs" / "versions.md"
DEVICES = {"GPU": "gpu", "TPU": "tpu"}  # entries, and the folders of their records
UNITS = {**RUNS, "layers": "tests of layers", "prove": "tests of `prove` and `lint`"}
BEGIN, END = "<!-- versions:begin -->", "<!-- versions:end -->"
HEAD = ("entry", "Python", "JAX", "flax", "optax", "torch", "device", "date", "command", "result")
NAMED = 6  # failing tests that a row names


def table() -> str:
    """Return the table of the page."""
    rows = [*_matrix(), *_devices()]
    return "\n".join(f"| {' | '.join(row)} |" for row in (HEAD, ["---"] * len(HEAD), *rows))


def write() -> None:
    """Replace the table between the markers of the page."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def _matrix() -> Iterator[list[str]]:
    for name in ENTRIES:
        for record in read(name):
            yield _row(name, record)


def _devices() -> Iterator[list[str]]:
    for name, folder in DEVICES.items():
        for record in records_in(ROOT / "benchmarks" / folder / "records.json"):
            yield _row(name, record)


def _row(name: str, record: dict[str, Any]) -> list[str]:
    versions = collections.defaultdict(lambda: "-", record["versions"])
    shown = [versions[key] for key in ("python", "jax", "flax", "optax", "torch")]
    where = [record["device"], record["date"], f"`{record['command']}`"]
    return [name, *shown, *where, result(record)]


def result(record: dict[str, Any]) -> str:
    """Describe the result of a record in one phrase."""
    if "error" in record:
        what = "not installed" if record["target"] == "install" else "did not finish"
        return f"{what}: {record['error'][:160]}".replace("|", "\\|")
    text = f"{record['passed']} of {record['of']} {UNITS[record['target']]} pass"
    failed = record["failed"]
    names = ", ".join(f"`{name.rpartition('::')[2]}`" for name in failed[:NAMED])
    more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return f"{text}; failing: {names}{more}" if failed else text


if __name__ == "__main__":
    sys.exit(write())
