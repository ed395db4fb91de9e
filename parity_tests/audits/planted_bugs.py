"""Inject porting bugs and record which ones `prove` and the common checks find, and where.

python -m parity_tests.audits.planted_bugs               every bug of every port
python -m parity_tests.audits.planted_bugs --sample 12   a fixed sample
python -m parity_tests.audits.planted_bugs --goldens     write the reports to tests/goldens/prove
python -m parity_tests.audits.planted_bugs --pairs 200   pairs of bugs that are planted together
python -m parity_tests.audits.planted_bugs gpt2 --correct --seeds 0 1 2 --wraps jit --workers 2
"""

import argparse
import json
import pathlib
import random
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from jaxgrad.parity import files
from jaxgrad.parity.prove.record import adapters
from parity_tests.audits import common_checks, planted_causes, planted_pairs, report_goldens
from parity_tests.audits.planted_runs import WRAPS, bugs, each, load, matches, names, prove_pair
from parity_tests.ports.bug import Bug
from parity_tests.runner.settings import configure


class BugResult(NamedTuple):
    """One bug and whether it was found."""

    port: str
    bug: str
    silent: bool
    surface: str
    where: str
    found: bool
    right_surface: bool
    right_place: bool
    reported: str  # the surface and torch name in the report
    cause: str
    judged: planted_causes.Judged  # the printed causes, compared with the planted bug
    confirmed: int  # how many causes are said to be confirmed
    false: list[str]  # those of them that are false
    seconds: float
    checks: dict[str, bool]  # for each common check, whether it found the bug
    golden: report_goldens.Golden  # the report, without what differs between machines


def judge(name: str, bug: Bug, *, checks: bool = True) -> BugResult:
    """Inject one bug, and run `prove` and the common checks on the pair."""
    start = time.perf_counter()
    pair = load(name).pair(0, **bug.plant)
    report = prove_pair(pair)
    seconds = time.perf_counter() - start
    first = report.first
    text = f"{first.surface}: {first.where}" if first else report.verdict
    text = next((note for note in report.notes if "a bug in jaxgrad" in note), text)
    return BugResult(
        port=name,
        bug=bug.name,
        silent=bug.silent,
        surface=bug.surface,
        where=" or ".join(bug.places),
        found=report.verdict == "fail",
        right_surface=first is not None and first.surface == bug.surface,
        right_place=first is not None and matches(first.torch, *bug.places),
        reported=text if report.verdict != "error" else f"error: {report.text}",
        cause=first.cause if first else "",
        judged=planted_causes.judged(report, [bug]),
        confirmed=planted_causes.confirmed(report),
        false=planted_causes.false_causes(report, [bug]),
        seconds=seconds,
        checks=common_checks.run_checks(pair) if checks else {},
        golden=report_goldens.golden(report),
    )


def judge_named(name: str, label: str, checks: bool) -> BugResult:
    """Judge a bug of a port by its name, as another process is asked to."""
    (bug,) = [bug for bug in load(name).BUGS if bug.name == label]
    return judge(name, bug, checks=checks)


def correct(
    patterns: Sequence[str], seeds: Sequence[int], wraps: Sequence[str], workers: int = 1
) -> int:
    """Run `prove` on every correct configuration and return the number of false alarms."""
    tasks = [
        (name, label, seeds, wraps)
        for name in names()
        if not patterns or any(p in name for p in patterns)
        for label in load(name).CONFIGURATIONS
    ]
    alarms = 0
    for (name, label, *_), found in zip(tasks, each(alarms_of, tasks, workers), strict=True):
        print("".join(found) + f"{name}/{label}: {len(seeds)} seeds x {len(wraps)}", flush=True)
        alarms += len(found)
    print(f"{len(tasks) * len(seeds) * len(wraps) - alarms} passed, {alarms} failed")
    return alarms


def alarms_of(name: str, label: str, seeds: Sequence[int], wraps: Sequence[str]) -> list[str]:
    """Return the reports of a correct configuration that do not pass."""
    port = load(name)
    options = port.CONFIGURATIONS[label]
    reports = {
        (seed, wrap): prove_pair(port.pair(seed, **options), wrap, seed)
        for seed in seeds
        for wrap in wraps
    }
    return [
        f"ALARM {name}/{label} seed {seed} {wrap}\n{report}\n"
        for (seed, wrap), report in reports.items()
        if report.verdict != "pass"
    ]


_COLUMNS = ("port", "bug", "silent", "surface", "found", "reported", "cause")


LEGEND = """\
A row is a mistake that was put into one JAX port. *silent*: it leaves the outputs unchanged.
*surface*: the first surface that has to fail. *found*: whether `prove` fails; "partly" if it names
another surface or place. *reported*: the surface and the place that it prints. *cause*:
whether the cause that it calls confirmed is the planted one ("right", "false"); of a cause that is
only observed "possible" or "doubtful"; "none" if it prints none. The other columns say whether a
common check fails; `assert_close` has its default tolerances, and "one step" compares the
parameters after one optimizer step."""


def table(rows: Sequence[BugResult]) -> str:
    """Return the results as a markdown table."""
    rules = list(rows[0].checks) if rows else []
    lines = [
        "| " + " | ".join([*_COLUMNS, *rules]) + " |",
        "|---" * (len(_COLUMNS) + len(rules)) + "|",
    ]
    for r in rows:
        right = r.found and r.right_surface and r.right_place
        mark = "yes" if right else "partly" if r.found else "no"
        text = r.reported.split("\n")[0]
        cells = [r.port, r.bug, "yes" if r.silent else "", r.surface, mark, text, r.judged]
        cells += ["yes" if r.checks.get(rule) else "no" for rule in rules]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(rows: Sequence[BugResult]) -> list[str]:
    """Return the counts of bugs that `prove` and each common check found."""
    n = len(rows) or 1
    found = sum(r.found for r in rows)
    right = sum(r.found and r.right_surface and r.right_place for r in rows)
    lines = [
        f"{len(rows)} bugs, {sum(r.silent for r in rows)} leave the forward pass unchanged",
        f"`prove` found {found} ({found / n:.0%}), with the right surface and place "
        f"{right} ({right / n:.0%})",
        planted_causes.counts((r.confirmed, len(r.false)) for r in rows),
    ]
    for rule in rows[0].checks if rows else ():
        k = sum(r.checks[rule] for r in rows)
        lines.append(f"{rule}: {k} ({k / n:.0%})")
    return lines


def _checks_of(path: pathlib.Path) -> dict[tuple[str, str], dict[str, bool]]:
    """Read the results of the common checks for each bug from an earlier run."""
    bugs = json.loads(path.read_text())["kill_table"]["bugs"]
    return {(row["port"], row["bug"]): row["checks"] for row in bugs if row["checks"]}


def judge_pairs(options: argparse.Namespace) -> int:
    """Plant two bugs at once, print and write the results, and return the exit status."""
    chosen = planted_pairs.drawn(options.pairs, options.patterns)
    rows: list[planted_pairs.PairResult] = []
    interrupted = False
    try:
        for row in each(planted_pairs.judge_pair, chosen, options.workers):
            rows.append(row)
            found = "at once" if row.at_once else "in turn" if row.in_turn else "NOT FOUND"
            print(
                f"[{len(rows)}/{len(chosen)}] {found} {row.port}: {row.first} and {row.second} "
                f"{row.seconds:.1f} s",
                flush=True,
            )
            for text in row.false:
                print(f"  FALSE CAUSE {text}", flush=True)
    except KeyboardInterrupt:
        interrupted = True
    rows.sort()
    lines = planted_pairs.summary(rows)
    print("\n".join(lines))
    if options.json:
        pairs = {"summary": lines, "pairs": [row._asdict() for row in rows]}
        versions = adapters.versions()
        content = {"versions": versions, "interrupted": interrupted, "results": []}
        options.json.write_text(json.dumps(content | {"kill_pairs": pairs}, indent=1))
    if interrupted:
        print(f"interrupted: {len(rows)} of {len(chosen)} pairs ran", file=sys.stderr)
        return 130
    if options.markdown:
        options.markdown.write_text(
            "\n\n".join(["\n".join(lines), planted_pairs.table(rows)]) + "\n"
        )
    return 1 if not rows or any(row.false for row in rows) else 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of port/bug")
    parser.add_argument("--sample", type=int, metavar="N", help="run a fixed sample of N bugs")
    parser.add_argument("--correct", action="store_true", help="prove the correct pairs instead")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--wraps", nargs="+", choices=list(WRAPS), default=list(WRAPS))
    text = "plant two bugs at once, in a fixed draw of N pairs"
    parser.add_argument("--pairs", type=int, metavar="N", help=text)
    parser.add_argument("--no-checks", action="store_true", help="skip the common checks")
    text = "take the common checks from an earlier run; they do not depend on `prove`"
    parser.add_argument("--checks-from", type=pathlib.Path, metavar="JSON", help=text)
    text = "write each report to its golden, instead of comparing it"
    parser.add_argument("--goldens", action="store_true", help=text)
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="use N processes")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args(argv)
    outputs = [("--json", options.json), ("--markdown", options.markdown)]
    if reason := files.refusal((option, path) for option, path in outputs if path is not None):
        parser.error(reason)
    configure()
    if options.correct:
        alarms = correct(options.patterns, options.seeds, options.wraps, options.workers)
        return 1 if alarms else 0
    if options.pairs is not None:
        return judge_pairs(options)
    chosen = bugs(options.patterns)
    if options.sample is not None and options.sample < len(chosen):
        chosen = sorted(
            random.Random(0).sample(chosen, options.sample), key=lambda c: (c[0], c[1].name)
        )
    known = _checks_of(options.checks_from) if options.checks_from else {}
    tasks = [
        (name, bug.name, not options.no_checks and (name, bug.name) not in known)
        for name, bug in chosen
    ]
    rows: list[BugResult] = []
    changed = 0
    interrupted = False
    results = each(judge_named, tasks, options.workers)
    try:
        for k, ((name, bug), result) in enumerate(zip(chosen, results, strict=True), 1):
            row = result._replace(checks=known.get((name, bug.name), result.checks))
            rows.append(row)
            mark = "found" if row.found else "MISSED"
            right = row.right_surface and row.right_place
            where = "" if right else f"  (expected {bug.surface}: {row.where})"
            reported = row.reported.splitlines()[0]
            print(
                f"[{k}/{len(chosen)}] {mark} {name}/{bug.name} -> {reported}{where} "
                f"cause {row.judged} {row.seconds:.1f} s",
                flush=True,
            )
            for text in row.false:
                print(f"  FALSE CAUSE {text}", flush=True)
            if options.goldens:
                report_goldens.write(name, {bug.name: row.golden})
            elif diff := report_goldens.difference(name, bug.name, row.golden):
                print(diff, flush=True)
                changed += 1
    except KeyboardInterrupt:
        interrupted = True
    print("\n".join(summary(rows)))
    if options.json and rows:
        fields = [row._replace(golden={})._asdict() for row in rows]
        results = {"summary": summary(rows), "bugs": fields}
        content = {
            "versions": adapters.versions(),
            "interrupted": interrupted,
            "results": [],
            "kill_table": results,
        }
        options.json.write_text(json.dumps(content, indent=1))
    if interrupted:  # the table in a markdown file would lose rows, so it stays as it is
        place = f"are in {options.json}" if options.json and rows else "ran"
        kept = f"; not written: {options.markdown}" if options.markdown else ""
        print(f"interrupted: {len(rows)} of {len(chosen)} bugs {place}{kept}", file=sys.stderr)
    elif options.markdown:
        text = "\n\n".join(["\n".join(summary(rows)), LEGEND, table(rows)])
        options.markdown.write_text(f"{text}\n")
    written = [str(path) for path in (rows and options.json, options.markdown) if path]
    if written and not interrupted:
        print(f"written: {', '.join(written)}")
    missed = [row for row in rows if not row.found]
    print(f"{len(rows) - len(missed)} passed, {len(missed)} failed")
    if changed:
        print(f"{changed} reports differ from their goldens; `make goldens` writes them again")
    if interrupted:
        return 130
    false = any(row.false for row in rows)
    return 1 if missed or changed or false or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
