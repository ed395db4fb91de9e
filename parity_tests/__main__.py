"""The parity runner: does every behaviour hold on these versions and this hardware?

    python -m parity_tests                      every case
    python -m parity_tests hooks S0-02          a theme, a source row, an id, part of one, a glob
    python -m parity_tests --explain grad_modes/detach

Exit status: 0 all passed, 1 any fail, error or blind, 2 usage or a device that is not there,
3 internal or torch missing, 5 nothing selected, 130 interrupted (what was done is written).
"""

import argparse
import concurrent.futures.process
import importlib.util
import json
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(argv)
    try:
        return _run(options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:
        traceback.print_exc()
        return INTERNAL


def _run(options: argparse.Namespace) -> int:
    from parity_tests.case import load
    from parity_tests.runner.selection import NothingSelected, grid, select
    from parity_tests.runner.settings import configure

    configure()
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
        for made in chosen:
            print(f"{made.id:<40} {','.join(made.source):<16} {','.join(made.dtypes)}")
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
    if options.picture:
        return _draw(chosen[0], options.output)
    old = None
    if options.against:
        try:
            with open(options.against) as file:
                old = json.load(file)
            old["results"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(
                f"--against {options.against}: not a file that --json wrote: {error}",
                file=sys.stderr,
            )
            return USAGE
    cells = grid(chosen, options.dtype, options.mode, options.device)
    if not cells:
        asked = f"--dtype {','.join(options.dtype)} --mode {','.join(options.mode)}"
        print(f"no cell of {len(chosen)} case(s) is left with {asked}", file=sys.stderr)
        return NOTHING
    return _report(options, chosen, cells, old)


def _draw(made: "Case", path: str | None) -> int:
    from parity_tests.case import CaseError
    from parity_tests.pictures.draw_case import picture

    try:
        text = picture(made)
    except CaseError as error:
        print(error, file=sys.stderr)
        return USAGE
    if path is None:
        print(text)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return OK


def _report(
    options: argparse.Namespace,
    chosen: "list[Case]",
    cells: "list[Cell]",
    old: dict[str, Any] | None,
) -> int:
    from parity_tests.pictures.draw_case import picture
    from parity_tests.report import page
    from parity_tests.report import text as report
    from parity_tests.report.explain import explain
    from parity_tests.runner.environment import versions

    start = time.perf_counter()
    results: list[Result] = []
    stopped, status = "", OK
    about = versions(options.seed, options.device)
    if not options.explain:
        names = ("torch", "jax", "python", "cpu", "cpu_capability", "seed")
        print("parity  " + " · ".join(f"{name} {about[name]}" for name in names))
    try:
        _run_cells(cells, options, results)
    except KeyboardInterrupt:
        stopped, status = "interrupted", INTERRUPTED
    except concurrent.futures.process.BrokenProcessPool:
        stopped, status = "a worker died, perhaps of too little memory (try --workers 1)", INTERNAL
    if options.explain:
        for made in chosen:
            print(explain(made, [result for result in results if result.id == made.id]))
    else:
        for result in results:
            if not result.passed:
                print(f"\n{result}")
        why = report.reasons(results)
        print(f"\n{report.LEGEND}" + (f"\naccepted deviations\n{why}" if why else ""))
    if options.durations:
        print(report.durations(results, time.perf_counter() - start))
    if old is not None:
        print(report.against(results, old))
    if options.json:
        report.write_json(options.json, report.document(results, about, interrupted=bool(stopped)))
    if options.html:
        drawn = {made.id: picture(made) for made in chosen if made.picture}
        page.write(options.html, chosen, results, about, old=old, pictures=drawn)
    if options.junit_xml:
        report.write_junit(options.junit_xml, results)
    for path in options.markdown if not stopped else ():
        report.write_markdown(path, chosen, results)
    if stopped:
        print(f"{stopped} after {len(results)} of {len(cells)} cells", file=sys.stderr)
    print(report.summary(results))
    if stopped:
        return status
    return OK if all(result.passed for result in results) else FAILED


def _run_cells(cells: "list[Cell]", options: argparse.Namespace, results: "list[Result]") -> None:
    """Fills `results` as it goes, so that an interruption loses nothing."""
    import rich.console
    import rich.progress

    from parity_tests.report import text as report
    from parity_tests.runner import workers

    count = options.workers or workers.enough(cells)
    with rich.progress.Progress(
        rich.progress.TextColumn("{task.description:<40.40}"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
        console=rich.console.Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as bar:
        task = bar.add_task(cells[0].case.id, total=len(cells))
        for index, result in enumerate(workers.results(cells, options.seed, count)):
            results.append(result)
            last = index + 1 == len(cells)
            id = "" if last else cells[index + 1].case.id
            bar.update(task, advance=1, description=id)
            if id != result.id and not options.explain:
                mine = [result for result in results if result.id == cells[index].case.id]
                print(report.line(mine), flush=True)


def _parser() -> argparse.ArgumentParser:
    from parity_tests.case import DTYPES, MODES

    def one_of(known: Sequence[str]) -> Any:
        def parse(text: str) -> list[str]:
            values = text.split(",")
            for value in values:
                if value not in known:
                    raise argparse.ArgumentTypeError(f"{value!r} is none of {', '.join(known)}")
            return values

        return parse

    def whole(text: str) -> int:
        if not text.isdigit() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes: 1 or more")
        return int(text)

    parser = argparse.ArgumentParser(
        prog="python -m parity_tests",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("patterns", nargs="*", metavar="PATTERN", help="id, part of one, glob, theme or source row")
    add("--list", action="store_true", help="the cases, without running them")
    add("--dtype", type=one_of(DTYPES), default=[], metavar="D[,D]", help=", ".join(DTYPES))
    add("--mode", type=one_of(MODES), default=[], metavar="M[,M]", help="eager, jit or both")
    add("--device", choices=("cpu", "gpu", "tpu"), default="cpu")
    add("--seed", type=int, default=0, metavar="N", help="0: the documents' own inputs")
    add(
        "-n",
        "--workers",
        type=whole,
        metavar="N",
        help="processes; many cells: one a core",
    )
    add("--explain", metavar="ID", help="both sources side by side and where the two differ")
    add("--picture", metavar="ID", help="its backward graphs, torch beside JAX, as SVG")
    add("-o", "--output", metavar="FILE", help="where --picture writes; else to the terminal")
    add("--json", metavar="FILE")
    add("--html", metavar="FILE", help="one offline page")
    add("--kill-table", action="store_true", help="planted porting bugs: what `prove` finds")
    add("--conventions", action="store_true", help="operators: where natural JAX forms differ")
    add("--junit-xml", metavar="FILE")
    text = "rewrite the table of behaviours, or of themes, between its markers; may be repeated"
    add("--markdown", metavar="FILE", action="append", default=[], help=text)
    add("--against", metavar="OLD.json", help="what changed since that --json")
    add("--durations", action="store_true", help="where the time went")
    return parser


if __name__ == "__main__":
    sys.exit(main())
