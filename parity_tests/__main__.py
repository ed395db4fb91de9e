"""Check that JAX programs have torch's gradients, with the installed versions on this machine.

    python -m parity_tests                      run every case
    python -m parity_tests hooks detach         run cases by theme, id, part of an id, or glob
    python -m parity_tests --explain grad_modes/detach

Exit status: 0 if every cell passed; 1 if a cell failed, raised or is blind; 2 for a usage error or
a missing device; 3 for an internal error or if torch is missing; 5 if no case was selected; 130 if
interrupted, or if the reader of the output, such as `head`, ended (the results so far are written).
"""

import argparse
import concurrent.futures.process
import contextlib
import dataclasses
import gc
import importlib.util
import itertools
import os
import sys
import time
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from parity_tests.case import Case
    from parity_tests.runner.engine import Result
    from parity_tests.runner.selection import Cell

OK, FAILED, USAGE, INTERNAL, NOTHING, INTERRUPTED = 0, 1, 2, 3, 5, 130
# The options that name a file to write, and which of them a mode uses ("" is a run of cases).
OUTPUTS = {
    "--json": "json",
    "--junit-xml": "junit_xml",
    "--markdown": "markdown",
    "--html": "html",
    "-o": "output",
}
USED = {
    "list": (),
    "kill_table": ("--json",),
    "conventions": ("--markdown", "--html"),
    "picture": ("-o",),
    "": ("--json", "--junit-xml", "--markdown", "--html"),
}
# The legend of `--list` goes to stderr: each line of stdout is a case, for `cut`, `awk` and `wc`.
LIST_LEGEND = (
    "rows: the S rows (of the source documents) and P rows (of the catalogue of differences) that "
    "a case covers; parity_tests/README.md explains them"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    options = _parser().parse_args(argv)
    try:
        status = _run(options)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except Exception:
        traceback.print_exc()
        return INTERNAL


def _run(options: argparse.Namespace) -> int:
    from parity_tests.case import load
    from parity_tests.runner.selection import NothingSelected, grid, select
    from parity_tests.runner.settings import LIGHT, compile_with, configure

    if reason := _wrong_files(options):
        print(reason, file=sys.stderr)
        return USAGE
    configure()
    if options.device == "cpu" and not options.xla_defaults:
        compile_with(LIGHT)
    if options.kill_table:
        from parity_tests.audits import planted_bugs as kill_table

        written = ["--json", options.json] if options.json else []
        return kill_table.main([*options.patterns, *written])
    if options.conventions:
        from parity_tests.operators._harness import conventions as _conventions

        page = options.markdown[-1] if options.markdown else None
        return _conventions.main(options.patterns, page, options.html, options.workers)
    cases = load()
    try:
        alone = [id for id in (options.explain, options.picture) if id]
        patterns = [*options.patterns, *alone]
        chosen = select(cases, patterns)
    except NothingSelected as error:
        print(error, file=sys.stderr)
        return NOTHING
    if options.list:
        print(f"{LIST_LEGEND}\n{'case':<40} {'rows':<16} dtypes", file=sys.stderr)
        for case in chosen:
            print(f"{case.id:<40} {','.join(case.source) or '-':<16} {','.join(case.dtypes)}")
        return OK
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed; run: pip install torch==2.13.0", file=sys.stderr)
        return INTERNAL
    from parity_tests.runner.environment import DeviceMissing, require_device

    try:
        require_device(options.device)
    except DeviceMissing as error:
        print(f"--device {options.device}: {error}", file=sys.stderr)
        return USAGE
    if options.device != "cpu" and (options.workers or 1) > 1:
        words = f"processes cannot share a {options.device}; leave the option out"
        print(f"--workers {options.workers}: {words}", file=sys.stderr)
        return USAGE
    if options.picture:
        return _draw(chosen[0], options.output)
    old = None
    if options.against:
        from parity_tests.report.text import read_json

        try:
            old = read_json(options.against)
        except ValueError as error:
            print(f"--against {options.against}: {error}", file=sys.stderr)
            return USAGE
    cells = grid(chosen, options.dtype, options.mode, options.device)
    if not cells:
        given = {"--dtype": options.dtype, "--mode": options.mode}
        asked = " ".join(f"{name} {','.join(values)}" for name, values in given.items() if values)
        print(f"none of the {len(chosen)} selected cases runs with {asked}", file=sys.stderr)
        return NOTHING
    return _report(options, chosen, cells, old)


def _wrong_files(options: argparse.Namespace) -> str:
    """Return what is wrong with the files that the options name, or "" if the run may begin."""
    from jaxgrad.parity import files
    from parity_tests.report import text as report

    mode = next((name for name in USED if name and getattr(options, name)), "")
    outputs = []
    for option, name in OUTPUTS.items():
        value = getattr(options, name)
        paths = value if isinstance(value, list) else [] if value is None else [value]
        outputs += [(option, path) for path in paths]
    for option, path in outputs:
        if option not in USED[mode]:
            needed = "needs --picture" if option == "-o" else ""
            with_mode = f"has no effect with --{mode.replace('_', '-')}"
            return f"{option} {path}: {needed or with_mode}"
    if mode == "conventions" and len(options.markdown) > 1:
        return f"--markdown {options.markdown[-1]}: --conventions writes one page only"
    for path in options.markdown if not mode else ():
        if reason := report.markdown_problem(path):
            return f"--markdown {path}: {reason}"
    return files.refusal(outputs)


def _draw(case: "Case", path: str | None) -> int:
    from parity_tests.case import CaseError
    from parity_tests.pictures.draw_case import picture

    try:
        text = picture(case)
    except CaseError as error:
        print(error, file=sys.stderr)
        return USAGE
    if path is None:
        print(text)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(f"written: {path}")
    return OK


@dataclasses.dataclass
class _Run:
    """The cells of a run and the results so far, which remain usable after an interruption."""

    cells: "list[Cell]"
    finished: "dict[int, Result]" = dataclasses.field(default_factory=dict)  # by index of the cell
    printed: set[str] = dataclasses.field(default_factory=set)  # ids of the cases with a line

    @property
    def results(self) -> "list[Result]":
        return [self.finished[index] for index in sorted(self.finished)]

    @property
    def missing(self) -> "list[Cell]":
        return [cell for index, cell in enumerate(self.cells) if index not in self.finished]


def _report(
    options: argparse.Namespace,
    chosen: "list[Case]",
    cells: "list[Cell]",
    old: dict[str, Any] | None,
) -> int:
    from parity_tests.runner.environment import versions

    start = time.perf_counter()
    run = _Run(cells)
    stopped, status = "", OK
    about = versions(options.seed, options.device)
    names = ["torch", "jax", "python", "cpu", "cpu_capability", "seed"]
    if options.device != "cpu":
        names[:0] = ["device", "device_kind"]
    try:
        if not options.explain:
            print("parity  " + " · ".join(f"{name} {about[name]}" for name in names))
        _run_cells(run, options)
    except KeyboardInterrupt:
        stopped, status = "interrupted", INTERRUPTED
    except BrokenPipeError:
        stopped, status = "the reader of the output has ended", INTERRUPTED
    except concurrent.futures.process.BrokenProcessPool:
        stopped = "a worker process died, perhaps out of memory (try --workers 1)"
        status = INTERNAL
    except Exception:
        traceback.print_exc()
        stopped, status = "stopped by an internal error", INTERNAL
    written, unwritten = _write(options, chosen, run, about, old, stopped)
    if unwritten and not stopped:
        status = INTERNAL
    try:
        _print(options, chosen, run, old, time.perf_counter() - start, [] if stopped else written)
        sys.stdout.flush()
    finally:
        if stopped:  # in the last line, even if the output has no reader
            count = f"{len(run.finished)} of {len(cells)} cells"
            place = f"are in {', '.join(written)}" if written else "ran"
            kept = f"; not written: {', '.join(unwritten)}" if unwritten else ""
            print(f"{stopped}: {count} {place}{kept}", file=sys.stderr)
    return status or (OK if all(result.passed for result in run.results) else FAILED)


def _print(
    options: argparse.Namespace,
    chosen: "list[Case]",
    run: _Run,
    old: dict[str, Any] | None,
    seconds: float,
    written: Sequence[str],
) -> None:
    """Print the results, and the paths of the files that a complete run has written."""
    from parity_tests.report import text as report
    from parity_tests.report.explain import explain

    results = run.results
    if options.explain:
        for case in chosen:
            print(explain(case, [result for result in results if result.id == case.id]))
    else:
        for id, group in itertools.groupby(results, lambda result: result.id):
            if id not in run.printed:  # a process had finished it before an earlier case
                print(report.line(list(group)))
        for result in results:
            if not result.passed:
                print(f"\n{result}")
        why = report.reasons(results)
        heading = "\ndocumented deviations and tolerances\n"
        print(f"\n{report.LEGEND}" + (f"{heading}{why}" if why else ""))
    if options.durations:
        print(report.durations(results, seconds))
    if old is not None:
        print(report.against(results, old))
    if written:
        print(f"written: {', '.join(written)}")
    print(report.summary(results))


def _write(
    options: argparse.Namespace,
    chosen: "list[Case]",
    run: _Run,
    about: dict[str, Any],
    old: dict[str, Any] | None,
    stopped: str,
) -> tuple[list[str], list[str]]:
    """Write the files; return the paths of those that are written and of those that are not.

    An incomplete run leaves tables in markdown files as they are, since they would lose rows.
    """
    from parity_tests.pictures.draw_case import pictures
    from parity_tests.report import page
    from parity_tests.report import text as report

    results = run.results

    def write_page(path: str) -> None:
        drawn = {case.id: pictures(case) for case in chosen if case.picture}
        note = f"The run is incomplete: {stopped}." if stopped else ""
        page.write(path, chosen, results, about, old=old, pictures=drawn, note=note)

    document = report.document(results, about, interrupted=bool(stopped))
    jobs = [
        ("--json", options.json, lambda path: report.write_json(path, document)),
        (
            "--junit-xml",
            options.junit_xml,
            lambda path: report.write_junit(path, results, run.missing),
        ),
        *(
            ("--markdown", path, lambda path: report.write_markdown(path, chosen, results))
            for path in options.markdown
        ),
        ("--html", options.html, write_page),
    ]
    written, unwritten = [], []
    for option, path, write in jobs:
        if path is None:
            continue
        if not results or (stopped and option == "--markdown"):
            unwritten.append(path)
            continue
        try:
            write(path)
            written.append(path)
        except Exception as error:  # the other files are written nevertheless
            unwritten.append(path)
            if not isinstance(error, OSError):
                traceback.print_exc()
            print(f"{option} {path}: not written: {error}", file=sys.stderr)
    return written, unwritten


def _run_cells(run: _Run, options: argparse.Namespace) -> None:
    """Run the cells, and print a line for each case as soon as it is finished."""
    import rich.console
    import rich.progress

    from jaxgrad.parity import interrupts
    from parity_tests.report import text as report
    from parity_tests.runner import workers

    cells = run.cells
    count = options.workers or workers.enough(cells)
    with (
        rich.progress.Progress(
            rich.progress.TextColumn("{task.description:<40.40}"),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TimeElapsedColumn(),
            console=rich.console.Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        ) as bar,
        interrupts.noticed() as check,
        contextlib.closing(workers.results(cells, options.seed, count, run.finished)) as results,
    ):
        task = bar.add_task(cells[0].case.id, total=len(cells))
        for index, result in enumerate(results):
            check()
            last = index + 1 == len(cells)
            id = "" if last else cells[index + 1].case.id
            bar.update(task, advance=1, description=id)
            if id != result.id and not options.explain:
                of_case = [other for other in run.results if other.id == result.id]
                print(report.line(of_case), flush=True)
                run.printed.add(result.id)


def _parser() -> argparse.ArgumentParser:
    from parity_tests.case import DTYPES, MODES

    def one_of(known: Sequence[str]) -> Any:
        def parse(text: str) -> list[str]:
            values = text.split(",")
            for value in values:
                if value not in known:
                    raise argparse.ArgumentTypeError(f"{value!r} is not one of {', '.join(known)}")
            return values

        return parse

    def whole(text: str) -> int:
        if not text.isdigit() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of processes")
        return int(text)

    parser = argparse.ArgumentParser(
        prog="python -m parity_tests",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    patterns = "a case id or part of one, a glob, a theme, or a source row such as S0-02"
    add("patterns", nargs="*", metavar="PATTERN", help=patterns)
    listed = "list the selected cases, their source rows and their dtypes without running them"
    add("--list", action="store_true", help=listed)
    dtypes = f"run these dtypes only: {', '.join(DTYPES)}"
    add("--dtype", type=one_of(DTYPES), default=[], metavar="D[,D]", help=dtypes)
    add("--mode", type=one_of(MODES), default=[], metavar="M[,M]", help="eager, jit or both")
    add("--device", choices=("cpu", "gpu", "tpu"), default="cpu", help="default: cpu")
    seed = "seed of the inputs; with 0 (the default) some cases use fixed example inputs"
    add("--seed", type=int, default=0, metavar="N", help=seed)
    add(
        "-n",
        "--workers",
        type=whole,
        metavar="N",
        help="number of processes (default: one per core for large runs, else 1)",
    )
    defaults = "compile with XLA's default options: twice the time, and other last digits in places"
    add("--xla-defaults", action="store_true", help=defaults)
    add("--explain", metavar="ID", help="print both programs and their largest differences")
    add("--picture", metavar="ID", help="draw the backward graphs of torch and JAX as SVG")
    add("-o", "--output", metavar="FILE", help="file for --picture (default: standard output)")
    add("--json", metavar="FILE", help="write the results as JSON")
    add("--html", metavar="FILE", help="write the results as one self-contained page")
    add("--kill-table", action="store_true", help="test which injected porting bugs `prove` finds")
    conventions = "list where common JAX expressions have other gradients than torch's operators"
    add("--conventions", action="store_true", help=conventions)
    add("--junit-xml", metavar="FILE", help="write the results as JUnit XML")
    text = "rewrite the table of behaviours or themes between its markers; may be repeated"
    add("--markdown", metavar="FILE", action="append", default=[], help=text)
    add("--against", metavar="OLD.json", help="print the changes since an earlier --json file")
    add("--durations", action="store_true", help="print the slowest cases and the time per phase")
    return parser


if __name__ in ("__main__", "__mp_main__"):  # in the workers, too
    gc.set_threshold(1_000_000, 20, 20)  # imports make many objects and no garbage

if __name__ == "__main__":
    status = main()
    if "triton" not in sys.modules:  # which reports each of its objects that is not collected
        gc.freeze()  # or Python's last collection visits every object of torch and JAX
    sys.exit(status)
