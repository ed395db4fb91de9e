"""Prove, write and lint ports from the command line.

    python -m jaxgrad.parity pair.py::name      prove the arguments that name() returns
    python -m jaxgrad.parity pair.py            prove every function whose name starts with `pair`
    python -m jaxgrad.parity port model.py::make -o my_model.py    write the port of a module
    python -m jaxgrad.parity verify my_model.py                    prove a written port again
    python -m jaxgrad.parity lint model.py::name    list where torch's gradient differs

Exit status: 0 pass, 1 fail or error, 2 usage, 3 internal error or torch missing, 4 inconclusive,
130 interrupted (the finished proofs are written). Several proofs exit with the worst status.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import json
import os
import pathlib
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence

from jaxgrad._core.suggestions import near
from jaxgrad.parity import files, interrupts
from jaxgrad.parity.lint import command as lint_command
from jaxgrad.parity.port import stages
from jaxgrad.parity.port.command import COMMANDS
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.prove.command import UsageError, load, run, seconds
from jaxgrad.parity.prove.report import Report, render, renderable
from jaxgrad.parity.prove.text import passed_and_failed


OK, FAILED, USAGE, INTERNAL, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 4, 130
SLOW = 10  # seconds after which a log gets another line
STEPS = ("torch", "weights", "trace", "jax forward", "align", "jax backward", "updates")
_NO_COMMAND = {"prove": "; prove the pairs of a file with: python -m jaxgrad.parity pair.py"}
PORT_STEPS = ("write", *(f"{mode}: {step}" for mode in ("train", "eval") for step in STEPS), "save")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _status_of(argv)
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(error, file=sys.stderr)
        return USAGE
    except KeyboardInterrupt as error:
        print(": ".join(filter(None, ("interrupted", str(error)))), file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            print("torch is not installed; run: pip install torch", file=sys.stderr)
        else:
            traceback.print_exc()
        return INTERNAL


def skip_last_collection() -> None:
    """Keep Python's last garbage collection from visiting every object of torch and JAX.

    torch's optimizers import triton, if it is installed. At exit triton's bindings print `nanobind:
    leaked ...` for each of its objects that is not collected, so the collection takes place then.
    """
    if "triton" not in sys.modules:
        gc.freeze()


def _status_of(argv: list[str]) -> int:
    """Run the command that the first argument names, or prove pairs, and return the status."""
    word = argv[0] if argv else ""
    if word == "lint":
        return _lint(argv[1:])
    if word in COMMANDS:
        return _command(word, argv[1:])
    if word:
        _refuse_other_commands(word)
    return _run(_parser().parse_args(argv))


def _refuse_other_commands(word: str) -> None:
    """Refuse a first argument that is neither an option nor a file, if it resembles a command.

    Raises:
        UsageError: The message says what to run.
    """
    if not word.isidentifier() or pathlib.Path(word).exists():
        return
    remedy = _NO_COMMAND.get(word) or near(word, (*COMMANDS, "lint"))
    if remedy:
        raise UsageError(f"there is no command and no file {word!r}{remedy}")


def _run(options: argparse.Namespace) -> int:
    """Prove pairs, and write the finished proofs even if a later one is interrupted."""
    outputs = [("--html", options.html), ("--json", options.json)]
    given = [(option, path) for option, path in outputs if path is not None]
    if reason := files.refusal(given):
        raise UsageError(reason)
    if options.html is not None and importlib.util.find_spec("jinja2") is None:
        raise UsageError(f"--html {options.html}: jinja2 is missing; run: pip install jinja2")
    pairs = [pair for target in options.targets for pair in load(target)]
    reports: list[Report] = []
    try:
        with interrupts.noticed() as check:
            for number, pair in enumerate(pairs, 1):
                check()
                with _bar(f"[{number}/{len(pairs)}] {pair.name}") as show:
                    progress = _checked(show, check)
                    report = run(pair, options.seed, progress, options.time_limit)
                    reports.append(report if options.html is None else renderable(report))
                print(f"{reports[-1]}\n", flush=True)
    except BaseException as error:
        finished = f"{len(reports)} of {len(pairs)} proofs"
        paths = [path for _, path in given]
        if reports:
            written = _write(options, reports, f"The run ended early: {finished} are finished.")
        else:
            written = []
        place = f"are in {', '.join(written)}" if written else "are finished"
        missing = ", ".join(path for path in paths if path not in written)
        text = f"{finished} {place}" + (f"; not written: {missing}" if missing else "")
        if isinstance(error, KeyboardInterrupt):
            _status(reports)
            raise KeyboardInterrupt(text) from None
        if reports:
            print(f"ended early: {text}", file=sys.stderr)
        raise
    written = _write(options, reports)
    if written:
        print(f"written: {', '.join(written)}")
    status = _status(reports)
    return status if len(written) == len(given) else INTERNAL


def _write(options: argparse.Namespace, reports: Sequence[Report], note: str = "") -> list[str]:
    """Write the files and return their paths; the files of an incomplete run say so."""
    proofs = [report.to_dict() for report in reports]
    texts = (
        ("--json", options.json, lambda: json.dumps(
            {"interrupted": bool(note), "proofs": proofs}, indent=1
        )),
        ("--html", options.html, lambda: render(reports, note)),
    )  # fmt: skip
    written: list[str] = []
    for option, path, text in texts:
        if path is None:
            continue
        try:
            pathlib.Path(path).write_text(text(), encoding="utf-8")
            written.append(path)
        except OSError as error:
            print(f"{option} {path}: not written: {error}", file=sys.stderr)
    return written


def _command(name: str, argv: Sequence[str]) -> int:
    """Run `port` or `verify`, and print the proofs."""
    command = COMMANDS[name]
    options = command.parser().parse_args(argv)
    command.check(options)
    reports: list[Report] = []
    try:
        with interrupts.noticed() as check, _bar(name, PORT_STEPS, stages.in_log) as show:
            for report in command.run(options, _checked(show, check)):
                reports.append(report)  # noqa: PERF402 - an interruption loses none
    except PortError as error:
        print(error, file=sys.stderr)
        return FAILED
    finally:
        for report in reports:
            print(f"{report}\n", flush=True)
    return _status(reports)


def _lint(argv: Sequence[str]) -> int:
    """Lint a function and print the report."""
    options = lint_command.parser().parse_args(argv)
    try:
        report = lint_command.run(options)
    except lint_command.RaisedError as error:
        print(error, file=sys.stderr)
        return FAILED
    print(report)
    return FAILED if report.findings else OK


def _checked(show: Callable[[str], None], check: Callable[[], None]) -> Callable[[str], None]:
    """Return a function that shows a step, after the check whether Ctrl-C was pressed."""

    def step(name: str) -> None:
        check()
        show(name)

    return step


def _status(reports: Sequence[Report]) -> int:
    """Print how many proofs passed, and return the exit status."""
    verdicts = [report.verdict for report in reports]
    passed, undecided = verdicts.count("pass"), verdicts.count("inconclusive")
    failed = len(reports) - passed - undecided
    tail = f", {undecided} inconclusive" if undecided else ""
    print(f"{passed_and_failed(passed, failed, verdicts.count('error'))}{tail}")
    return FAILED if failed else UNDECIDED if undecided else OK


def _lines(title: str) -> Callable[[str], None]:
    """Print the title, and a line for each step that begins `SLOW` seconds after the last line."""
    print(title, file=sys.stderr, flush=True)
    printed = time.monotonic()

    def step(name: str) -> None:
        nonlocal printed
        now = time.monotonic()
        if now - printed >= SLOW:
            printed = now
            print(f"{title}: {name}", file=sys.stderr, flush=True)

    return step


@contextlib.contextmanager
def _bar(
    title: str,
    steps: Sequence[str] = STEPS,
    in_log: Callable[[str], Callable[[str], None]] = _lines,
) -> Iterator[Callable[[str], None]]:
    """Show progress on stderr: a bar on a terminal, else the lines that `in_log(title)` prints."""
    if not sys.stderr.isatty() or importlib.util.find_spec("rich") is None:
        yield in_log(title)
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description:<48.48}"),
        progress.BarColumn(),
        progress.TimeElapsedColumn(),
    )
    # The bar is transient, because it would wrap the report that is printed after it.
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=len(steps))

        def step(name: str) -> None:
            done = steps.index(name) if name in steps else 0
            at = max(bar.tasks[task].completed, done)
            bar.update(task, completed=at, description=f"{title}: {name}")

        yield step


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="python -m jaxgrad.parity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("targets", nargs="+", metavar="FILE[::NAME]", help="a file of pairs, or one pair")
    add("--html", metavar="FILE", help="write one offline page of all proofs")
    add("--json", metavar="FILE", help="write all proofs as JSON")
    add("--seed", type=int, metavar="N", help="seed of the cotangents and of the second inputs")
    add(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="end each proof after this time; what is not judged by then is inconclusive",
    )
    return parser


if __name__ == "__main__":
    status = main()
    skip_last_collection()
    sys.exit(status)
