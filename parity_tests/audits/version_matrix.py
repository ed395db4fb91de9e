"""Run the cells, operators and scripts on each supported version of Python, JAX, flax and torch.

    make matrix                            every entry but the nightly builds
    make matrix ARGS='floor newest'        some entries
    make matrix ARGS='floor --run parity'  only the cells

Each entry is installed under .cache/matrix and leaves a record in benchmarks/versions, from which
docs/versions.md is written. A run that has a record of this commit is skipped, so an interrupted
matrix continues where it stopped.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

from parity_tests.audits.environments import ROOT, InstallError, install, make, remove


RECORDS = ROOT / "benchmarks" / "versions"
RUNS = {  # targets of the Makefile, and their units
    "parity": "cells",
    "operators": "operators",
    "scripts": "scripts of README and docs",
}
NIGHTLY = {
    "PIP_PRE": "1",
    "PIP_EXTRA_INDEX_URL": (
        "https://us-central1-python.pkg.dev/ml-oss-artifacts-published/jax/simple/ "
        "https://download.pytorch.org/whl/nightly/cpu"
    ),
}
_MINIMUM = re.compile(r"([\w-]+)>=([\w.]+)")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One set of versions: a Python, and what pip may install there."""

    python: str
    allowed: str  # "floor", "pins" or "newest"
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    runs: tuple[str, ...] = tuple(RUNS)


ENTRIES = {
    "floor": Entry("3.11", "floor", runs=("parity", "operators")),
    "pins-3.11": Entry("3.11", "pins"),
    "pins-3.12": Entry("3.12", "pins"),
    "pins-3.13": Entry("3.13", "pins"),
    "newest": Entry("3.13", "newest"),
    "nightly": Entry("3.13", "newest", NIGHTLY),
}


def floor() -> str:
    """Return constraints that admit only the oldest versions that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *extras["torch"], *extras["nnx"], *extras["parity"]]
    minima = [_MINIMUM.fullmatch(need) for need in needs if not need.startswith("jaxgrad[")]
    assert all(minima), f"write each dependency as name>=version: {needs}"
    return "".join(f"{m[1]}=={m[2]}\n" for m in minima if m)


def constraints(entry: Entry) -> str:
    """Return the text of the constraints file of an entry."""
    if entry.allowed == "pins":
        return (ROOT / "constraints.txt").read_text()
    return floor() if entry.allowed == "floor" else ""


def run(
    name: str, targets: Sequence[str], torch_index: str, keep_folder: bool
) -> list[dict[str, Any]]:
    """Install an entry, run the targets that have no record of this commit, and record them."""
    entry = ENTRIES[name]
    head = commit()
    done = [record for record in read(name) if record["commit"] == head]
    targets = [target for target in targets if target not in {r["target"] for r in done}]
    if not targets:
        print(f"{name}: already recorded at commit {head}")
        return done
    folder = f".cache/matrix/{name}"
    (ROOT / folder).parent.mkdir(parents=True, exist_ok=True)
    limits = f"{folder}.txt"
    _write(ROOT / limits, constraints(entry))
    where = {"PYTHON": f"python{entry.python}", "CONSTRAINTS": limits, "EXTRAS": "test"}
    records = []
    try:
        known = install(folder, {"TORCH_INDEX": torch_index, **where}, entry.env)
        for target in targets:
            result = _measure(name, target, {"VENV": folder, **where})
            records.append(_record(name, target, known, head, **result))
            keep(_path(name), records[-1])
    except InstallError as error:
        records.append(_record(name, "install", {"python": entry.python}, head, error=str(error)))
        keep(_path(name), records[-1])
    if not keep_folder:
        remove(folder)
    return records


def read(name: str) -> list[dict[str, Any]]:
    """Return the records of an entry."""
    return records_in(_path(name))


def _path(name: str) -> pathlib.Path:
    return RECORDS / f"{name}.json"


def records_in(path: pathlib.Path) -> list[dict[str, Any]]:
    """Return the records in a file, or none if there is no such file."""
    return json.loads(path.read_text()) if path.exists() else []


def keep(path: pathlib.Path, record: dict[str, Any]) -> None:
    """Write a record in place of the older one of its target and of a failed installation."""
    replaced = {record["target"], "install"}
    others = [old for old in records_in(path) if old["target"] not in replaced]
    _write(path, json.dumps([*others, record], indent=1) + "\n")


def _measure(name: str, target: str, where: dict[str, str]) -> dict[str, Any]:
    """Run a target of the Makefile and return its counts, or the last line of a crash."""
    report = ROOT / ".cache" / "matrix" / f"{name}-{target}.xml"
    report.unlink(missing_ok=True)
    done = make(target, {"ARGS": f"--junit-xml '{report}'", **where})
    report.with_suffix(".log").write_text(done.stdout + done.stderr)
    return counts(report) if report.exists() else crash(done)


def crash(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the last line that a failed process printed, as the error of a record."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return {"error": (lines or [f"{done.args[0]} exited with {done.returncode}"])[-1]}


def counts(report: pathlib.Path) -> dict[str, Any]:
    """Return how many tests of a JUnit file passed, of how many, and the names of the others."""
    cases = list(ET.parse(report).getroot().iter("testcase"))
    ran = [case for case in cases if case.find("skipped") is None]
    failed = [c for c in ran if c.find("failure") is not None or c.find("error") is not None]
    names = [f"{case.get('classname', '')}::{case.get('name', '')}" for case in failed]
    return {"passed": len(ran) - len(failed), "of": len(ran), "failed": names}


def _record(
    name: str, target: str, known: dict[str, str], head: str, **result: Any
) -> dict[str, Any]:
    runs = f" --run {target}" if target in RUNS else ""
    return {
        "entry": name,
        "target": target,
        "command": f"make matrix ARGS='{name}{runs}'",
        "versions": known,
        "device": f"CPU, {platform.machine()}, {os.cpu_count()} cores",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": head,
        **result,
    }


def commit() -> str:
    """Return the commit of the checkout, or "unknown" outside of git."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return out.stdout.strip() or "unknown"


def outcome(record: dict[str, Any]) -> str:
    return f"{record['passed']} of {record['of']} pass"


def succeeded(record: dict[str, Any]) -> bool:
    return "error" not in record and record["passed"] == record["of"] > 0


def _write(path: pathlib.Path, text: str) -> None:
    """Write a file that changed; an unchanged one keeps its date, so make installs nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the entries of the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="make matrix", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("entries", nargs="*", metavar="ENTRY", help=" ".join(ENTRIES))
    parser.add_argument("--run", nargs="+", choices=RUNS, help="targets, all by default")
    parser.add_argument(
        "--keep", action="store_true", help="keep the environments (1 to 7 GB each)"
    )
    parser.add_argument("--torch-index", default="", metavar="URL", help="an index of CPU builds")
    options = parser.parse_args(arguments)
    chosen = options.entries or [name for name in ENTRIES if name != "nightly"]
    if unknown := [name for name in chosen if name not in ENTRIES]:
        parser.error(f"there is no entry {unknown[0]!r}: write one of {', '.join(ENTRIES)}")
    status = 0
    for name in chosen:
        python = f"python{ENTRIES[name].python}"
        if shutil.which(python) is None:
            print(f"{name}: {python} is not on the PATH; install it and run make matrix again")
            status = 1
            continue
        targets = options.run or ENTRIES[name].runs
        for record in run(name, targets, options.torch_index, options.keep):
            print(name, record["target"], record.get("error") or outcome(record), flush=True)
            status |= not succeeded(record)
    return status


if __name__ == "__main__":
    sys.exit(main())
