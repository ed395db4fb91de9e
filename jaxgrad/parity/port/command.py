"""The commands `port` and `verify` of `python -m jaxgrad.parity`."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jaxgrad
from jaxgrad.parity import files
from jaxgrad.parity.port.proof import verifying
from jaxgrad.parity.port.source.refusals import KEPT, Interrupted
from jaxgrad.parity.prove.command import (
    UsageError,
    called,
    check_file,
    functions_of,
    named,
    nameless,
    seconds,
)
from jaxgrad.parity.prove.report import Report


Show = Callable[[str], None]
_OUTPUT = "the Python file to write; its proof goes beside it, for `verify`, in up to four files"
_USAGE = "the file of a function that returns the module, as in model.py::make"
_WRITTEN = "the file that `port` has written, as in my_model.py"
_OPTIMIZER = (
    "a function of the same file from the module, or its list of parameters, to torch's optimizer; "
    "the port gets a training step"
)
_OF_A_STEP = {
    "loss": "a function of the same file from the outputs and the targets to torch's loss; leave "
    "it out if the module returns its loss",
    "targets": "a function of the same file that returns the tuple of the example targets",
    "scheduler": "a function of the same file from the optimizer to torch's scheduler",
    "clip": "the maximum norm of the gradients for torch's clip_grad_norm_",
    "total": "the number of steps of the training run, whose schedule is compared; by default what "
    "torch's scheduler says",
}
_HOLES = (
    "write a function to be completed by hand for each refused statement; a mode that calls one "
    "is not proved yet, so the exit status is 1"
)
_FORCE = "replace FILE even if it was edited, or if `port` has not written it"
_LIMIT = "end each proof after this time; a proof that ends so is inconclusive"
_STATUS = (
    "Exit status: 0 pass, 1 refused, fail or error, 2 usage, 3 internal error or torch missing, "
    "4 inconclusive, 130 interrupted."
)


@dataclasses.dataclass(frozen=True)
class Command:
    """A command: the parser of its arguments, their check, and the function that yields proofs."""

    parser: Callable[[], argparse.ArgumentParser]
    check: Callable[[argparse.Namespace], None]
    run: Callable[[argparse.Namespace, Show], Iterator[Report]]


def _port_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="python -m jaxgrad.parity port",
        description="Write and prove the port of a module.",
        epilog=_STATUS,
    )
    add = parser.add_argument
    add(
        "target", metavar="FILE::NAME", help="a function that returns a module, or (module, inputs)"
    )
    add("-o", "--output", metavar="FILE", required=True, help=_OUTPUT)
    add("--inputs", metavar="NAME", help="a function of the same file that returns the inputs")
    add("--optimizer", metavar="NAME", help=_OPTIMIZER)
    for option in ("loss", "targets", "scheduler"):
        add(f"--{option}", metavar="NAME", help=_OF_A_STEP[option])
    add("--clip", type=float, metavar="NORM", help=_OF_A_STEP["clip"])
    add("--total", type=int, metavar="STEPS", help=_OF_A_STEP["total"])
    add(
        "--style",
        choices=verifying.STYLES,
        default="functions",
        help="functions, or flax nnx classes",
    )
    add("--holes", action="store_true", help=_HOLES)
    add("--force", action="store_true", help=_FORCE)
    add("--scan", action="store_true", help="write loops over equal layers as lax.scan")
    add("--time-limit", type=seconds, metavar="SECONDS", help=_LIMIT)
    return parser


def _check_port(options: argparse.Namespace) -> None:
    """Check the arguments of `port` before anything is imported.

    Raises:
        UsageError: The file of the module does not exist, no function is named, the output is not
            a Python file, a file of the port cannot be written, an edited file would be lost, or an
            option of the training step comes without `--optimizer`.
    """
    file, _, name = options.target.partition("::")
    check_file(file, _USAGE)
    if not name:
        raise UsageError(nameless(file, "the module"))
    extra = [option for option in _OF_A_STEP if getattr(options, option) is not None]
    if extra and options.optimizer is None:
        raise UsageError(
            f"--{extra[0]} needs --optimizer NAME, a function that returns torch's optimizer"
        )
    output = pathlib.Path(options.output)
    if output.suffix != ".py":
        raise UsageError(f"-o {output}: is not the name of a Python file, as in my_model.py")
    if output.exists() and pathlib.Path(file).exists() and output.samefile(file):
        raise UsageError(f"-o {output}: is the file of the module; give another name")
    if reason := files.refusal(("-o", path) for path in verifying.Files(output).all):
        raise UsageError(reason)
    if not options.force and (reason := verifying.lost(verifying.Files(output))):
        raise UsageError(
            f"-o {output}: {reason}; give another name, or pass --force to replace the file"
        )


def _port(options: argparse.Namespace, progress: Show) -> Iterator[Report]:
    """Write and prove the port of a module that a function of the user's file returns.

    Raises:
        UsageError: The function does not return a module and its inputs.
        PortError: The module cannot be ported.
        KeyboardInterrupt: The message says whether the port is written.
    """
    output = pathlib.Path(options.output)
    chosen = {"style": options.style, "scan": options.scan, "holes": options.holes}
    chosen["time_limit"] = options.time_limit
    try:
        file = options.target.partition("::")[0]
        functions = functions_of(file, _USAGE)
        module, inputs = _built(options.target, functions, options.inputs)
        step = _training_step(file, functions, options)
        ported = jaxgrad.port(module, inputs, **step, **chosen, progress=progress)
    except Interrupted as error:
        path = _unproved(output, error.ported.source)
        raise KeyboardInterrupt(_kept(output, path)) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{output} is not written") from None
    except jaxgrad.parity.PortError as error:
        if error.ported is None:
            raise
        path = _unproved(output, error.ported.source)
        print(f"{path}: the port, which is not proved")
        reason = error.reason.removesuffix(KEPT).replace(error.ported.placeholder, path.name)
        raise jaxgrad.parity.PortError(reason, error.place, error.ported) from None
    try:
        progress("save")
        ported.write(output)
    except KeyboardInterrupt:
        path = _unproved(output, ported.source)
        raise KeyboardInterrupt(_kept(output, path)) from None
    print(f"{output}: {ported.usage}, {len(ported.source.splitlines())} lines")
    beside = verifying.Files(output).beside(ported.reports)
    print(f"beside it, for `verify`: {', '.join(path.name for path in beside)}")
    for hole in ported.holes:
        print(hole)
    yield from ported.reports_in(output).values()


def _kept(output: pathlib.Path, path: pathlib.Path) -> str:
    """Say that an interrupted port is kept under the name of one that is not proved."""
    return f"{output} is not written; {path} is the port, which is not proved"


def _unproved(output: pathlib.Path, source: str) -> pathlib.Path:
    """Write a port that is not proved beside the file that it would become, and return its path."""
    path = output.with_name(f"{output.stem}.unproved.py")
    path.write_text(
        source.replace('"""', '"""NOT PROVED: ', 1), "utf-8"
    )  # each line keeps its number
    return path


def _built(
    target: str, functions: Mapping[str, Callable[..., Any]], inputs: str | None
) -> tuple[Any, Any]:
    """Return the module and its inputs."""
    file, _, name = target.partition("::")
    made = called(functions, file, name)
    if isinstance(made, Mapping):
        made = made.get("module"), made.get("inputs")
    if inputs is not None:
        module = made[0] if isinstance(made, tuple) else made
        return module, called(functions, file, inputs)
    if not isinstance(made, tuple) or len(made) != 2 or made[1] is None:
        raise UsageError(
            f"{target} returns {type(made).__name__}; return (module, inputs), or pass "
            "--inputs NAME, a function that returns the inputs"
        )
    return made[0], made[1]


def _training_step(
    file: str, functions: Mapping[str, Callable[..., Any]], options: argparse.Namespace
) -> dict[str, Any]:
    """Return the arguments of `port` for the training step, by name."""
    names = {key: getattr(options, key) for key in ("optimizer", "loss", "targets", "scheduler")}
    step = {key: named(functions, file, name) for key, name in names.items() if name is not None}
    if names["targets"] is not None:
        step["targets"] = called(functions, file, names["targets"])
    given = {key: getattr(options, key) for key in ("clip", "total")}
    return step | {key: value for key, value in given.items() if value is not None}


def _verify_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="python -m jaxgrad.parity verify",
        description="Prove a written port again, from the files beside it.",
        epilog=_STATUS,
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="a port that `port` has written")
    add("--time-limit", type=seconds, metavar="SECONDS", help=_LIMIT)
    return parser


def _check_verify(options: argparse.Namespace) -> None:
    """Check that a port has the files of its proof.

    Raises:
        UsageError: A file is missing, or another version has written it.
    """
    check_file(options.file, _WRITTEN)
    try:
        verifying.read(verifying.Files(pathlib.Path(options.file)))
    except verifying.NoProof as error:
        raise UsageError(str(error)) from None


def _verify(options: argparse.Namespace, progress: Show) -> Iterator[Report]:
    """Prove a written port again, from the files beside it.

    Raises:
        KeyboardInterrupt: The message says how many proofs are finished.
    """
    source = pathlib.Path(options.file)
    written = verifying.Files(source)
    if verifying.has_changed(written):
        print(f"{source} has changed since it was written", file=sys.stderr)
    proof = verifying.read(written)
    if text := verifying.unproved_step(written, proof):
        print(text)
    finished, count = 0, len(proof["modes"]) + bool(proof.get(verifying.STEP))
    try:
        for _, report in verifying.verify(source, progress, options.time_limit):
            finished += 1
            yield report
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{finished} of {count} proofs are finished") from None


COMMANDS = {
    "port": Command(_port_parser, _check_port, _port),
    "verify": Command(_verify_parser, _check_verify, _verify),
}
