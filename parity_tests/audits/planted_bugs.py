"""Planted porting bugs: which are found, where, by `prove` and by the checks that people use.

python -m parity_tests.audits.planted_bugs               every bug of every twin
python -m parity_tests.audits.planted_bugs --sample 12   a fixed sample
python -m parity_tests.audits.planted_bugs gpt2 --correct --seeds 0 1 2 --wraps jit
"""

import argparse
import fnmatch
import importlib
import json
import pathlib
import random
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove import adapters as front
from parity_tests.audits import common_checks as usual
from parity_tests.ports.bug import Bug
from parity_tests.runner.settings import ROOT, configure


FOLDER = ROOT / "parity_tests" / "ports"
WRAPS = {"eager": lambda fn: fn, "jit": jax.jit, "remat": jax.checkpoint}


class Row(NamedTuple):
    """One bug and what became of it."""

    twin: str
    bug: str
    silent: bool
    surface: str
    where: str
    found: bool
    right_surface: bool
    right_place: bool
    said: str  # what the report says: surface and torch name
    cause: str
    seconds: float
    usual: dict[str, bool]  # rule -> found


def names() -> list[str]:
    return sorted(p.stem for p in FOLDER.glob("[a-z]*.py") if p.stem != "bug")


def twin(name: str) -> Any:
    return importlib.import_module(f"parity_tests.ports.{name}")


def proved(pair: dict[str, Any], wrap: str = "eager", seed: int = 0) -> Report:
    """`prove` on what a twin's `pair` gives."""
    given = dict(pair)
    module, fn, params, inputs = (given.pop(k) for k in ("module", "fn", "params", "inputs"))
    if wrap != "eager":
        fn = WRAPS[wrap](fn)
    return prove(module, fn, params, inputs, seed=seed, **given)


def matches(said: str, where: str) -> bool:
    """Whether a name in a report is the module or parameter of a bug, or stands inside it."""
    return any(fnmatch.fnmatch(said, p) for p in (where, f"{where}.*", f"{where}*"))


def judge(name: str, bug: Bug, *, by_usual: bool = True) -> Row:
    """Plant one bug."""
    start = time.perf_counter()
    pair = twin(name).pair(0, **bug.plant)
    report = proved(pair)
    seconds = time.perf_counter() - start
    first = report.first
    said = f"{first.surface}: {first.where}" if first else report.verdict
    said = next((note for note in report.notes if "a bug in jaxgrad" in note), said)
    return Row(
        twin=name,
        bug=bug.name,
        silent=bug.silent,
        surface=bug.surface,
        where=bug.where,
        found=report.verdict == "fail",
        right_surface=first is not None and first.surface == bug.surface,
        right_place=first is not None and matches(first.torch, bug.where),
        said=said if report.verdict != "error" else f"error: {report.text}",
        cause=first.cause if first else "",
        seconds=seconds,
        usual=usual.found(pair) if by_usual else {},
    )


def planted(patterns: Sequence[str] = ()) -> list[tuple[str, Bug]]:
    """Every bug of every twin."""
    return [
        (name, bug)
        for name in names()
        for bug in twin(name).BUGS
        if not patterns or any(fnmatch.fnmatch(f"{name}/{bug.name}", f"*{p}*") for p in patterns)
    ]


def correct(patterns: Sequence[str], seeds: Sequence[int], wraps: Sequence[str]) -> int:
    """Prove what is right; returns how many false alarms there were."""
    alarms = count = 0
    for name in names():
        if patterns and not any(p in name for p in patterns):
            continue
        made = twin(name)
        for label, options in made.CONFIGURATIONS.items():
            for seed in seeds:
                for wrap in wraps:
                    report = proved(made.pair(seed, **options), wrap, seed)
                    count += 1
                    if report.verdict != "pass":
                        alarms += 1
                        print(f"ALARM {name}/{label} seed {seed} {wrap}\n{report}", flush=True)
            print(f"{name}/{label}: {len(seeds)} seeds x {len(wraps)}", flush=True)
    print(f"{count - alarms} passed, {alarms} failed")
    return alarms


def table(rows: Sequence[Row]) -> str:
    """As markdown."""
    rules = list(rows[0].usual) if rows else []
    lines = [
        "| twin | bug | silent | surface | found | said | " + " | ".join(rules) + " |",
        "|---" * (6 + len(rules)) + "|",
    ]
    for r in rows:
        mark = (
            "yes" if r.found and r.right_surface and r.right_place else "part" if r.found else "no"
        )
        cells = [r.twin, r.bug, "yes" if r.silent else "", r.surface, mark, r.said.split("\n")[0]]
        cells += ["yes" if r.usual.get(rule) else "no" for rule in rules]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(rows: Sequence[Row]) -> list[str]:
    """How many of how many, by us and by each usual rule."""
    n = len(rows) or 1
    found = sum(r.found for r in rows)
    right = sum(r.found and r.right_surface and r.right_place for r in rows)
    lines = [
        f"{len(rows)} bugs, {sum(r.silent for r in rows)} leave the forward pass as it is",
        f"found {found} ({found / n:.0%}), with surface and place {right} ({right / n:.0%})",
    ]
    for rule in rows[0].usual if rows else ():
        k = sum(r.usual[rule] for r in rows)
        lines.append(f"{rule}: {k} ({k / n:.0%})")
    return lines


def _usual_of(path: pathlib.Path) -> dict[tuple[str, str], dict[str, bool]]:
    """What the usual rules said of each bug in an earlier run."""
    bugs = json.loads(path.read_text())["kill_table"]["bugs"]
    return {(row["twin"], row["bug"]): row["usual"] for row in bugs if row["usual"]}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of twin/bug")
    parser.add_argument("--sample", type=int, metavar="N", help="a fixed sample of N")
    parser.add_argument("--correct", action="store_true", help="prove what is right instead")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--wraps", nargs="+", choices=list(WRAPS), default=list(WRAPS))
    parser.add_argument("--no-usual", action="store_true", help="leave the usual rules out")
    text = "an earlier run: what the usual rules say does not change with prove"
    parser.add_argument("--usual-from", type=pathlib.Path, metavar="JSON", help=text)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args(argv)
    configure()
    if options.correct:
        return 1 if correct(options.patterns, options.seeds, options.wraps) else 0
    chosen = planted(options.patterns)
    if options.sample is not None and options.sample < len(chosen):
        chosen = sorted(
            random.Random(0).sample(chosen, options.sample), key=lambda c: (c[0], c[1].name)
        )
    known = _usual_of(options.usual_from) if options.usual_from else {}
    rows = []
    for k, (name, bug) in enumerate(chosen, 1):
        before = known.get((name, bug.name))
        row = judge(name, bug, by_usual=not options.no_usual and before is None)
        row = row._replace(usual=before) if before is not None else row
        mark = "found" if row.found else "MISSED"
        where = (
            ""
            if row.right_surface and row.right_place
            else f"  (wanted {bug.surface}: {bug.where})"
        )
        print(
            f"[{k}/{len(chosen)}] {mark} {name}/{bug.name} -> {row.said.splitlines()[0]}{where} "
            f"{row.seconds:.1f} s",
            flush=True,
        )
        rows.append(row)
    print("\n".join(summary(rows)))
    if options.json:
        found = {"summary": summary(rows), "bugs": [row._asdict() for row in rows]}
        content = {"versions": front.versions(), "results": [], "kill_table": found}
        options.json.write_text(json.dumps(content, indent=1))
    if options.markdown:
        options.markdown.write_text("\n\n".join(["\n".join(summary(rows)), table(rows)]) + "\n")
    missed = [row for row in rows if not row.found]
    print(f"{len(rows) - len(missed)} passed, {len(missed)} failed")
    return 1 if missed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
