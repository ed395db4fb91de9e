"""The command `lint` of `python -m jaxgrad.parity`."""

from __future__ import annotations

import argparse
import inspect
import pathlib
from collections.abc import Callable
from typing import Any

from jaxgrad._core.torch_versions import supported
from jaxgrad.parity import files
from jaxgrad.parity.lint.linter import lint
from jaxgrad.parity.lint.report import LintReport
from jaxgrad.parity.prove.command import UsageError, check_file, functions_of, named, nameless
from jaxgrad.parity.prove.users import described, place_of, returned


_USAGE = "the file of a function that returns (fn, *args), as in model.py::make"
_STATUS = (
    "Exit status: 0 no finding, 1 findings or an exception of your code, 2 usage, "
    "3 internal error, 130 interrupted."
)


class RaisedError(Exception):
    """The user's code raised an exception, or `lint` refused what it got."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="python -m jaxgrad.parity lint",
        description="List where torch's gradient differs from that of a JAX function.",
        epilog=_STATUS,
    )
    add = parser.add_argument
    add(
        "target",
        metavar="FILE::NAME",
        help="a function that returns (fn, *args), the arguments of jaxgrad.parity.lint; "
        "with --inputs, fn itself",
    )
    add("--inputs", metavar="NAME", help="a function of the same file that returns (*args,)")
    add(
        "--torch",
        type=_version,
        metavar="VERSION",
        help="the version of torch whose conventions are stated; by default the installed one",
    )
    add("--json", metavar="FILE", help="write the findings as JSON")
    return parser


def _version(text: str) -> str:
    """Return a version of torch that jaxgrad knows."""
    try:
        return supported(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> LintReport:
    """Lint the function that the arguments name, and write the report if a file is given.

    Raises:
        UsageError: No function is named, it returns something else, or the file cannot be written.
        RaisedError: The user's code raised an exception, or `lint` refused its arguments.
    """
    file, _, name = options.target.partition("::")
    check_file(file, _USAGE)
    if not name:
        raise UsageError(nameless(file, "(fn, *args)"))
    if options.json is not None and (reason := files.refusal([("--json", options.json)])):
        raise UsageError(reason)
    functions = functions_of(file, _USAGE)
    function = named(functions, file, name)
    if options.inputs is None:
        fn, args = _arguments(options.target, function)
    else:
        made = _called(options.inputs, named(functions, file, options.inputs))
        if not isinstance(made, tuple):
            raise UsageError(
                f"--inputs {options.inputs} returned {returned(made)}; return a tuple of the "
                f"arguments of {name}, as in return params, x"
            )
        fn, args = function, made
    try:
        report = lint(fn, *args, torch=options.torch)
    except Exception as error:
        text = f"{name} raised {described(error)}" if place_of(error) else str(error)
        raise RaisedError(text) from error
    if options.json is not None:
        report.to_json(pathlib.Path(options.json))
    return report


def _arguments(target: str, function: Callable[..., Any]) -> tuple[Any, tuple[Any, ...]]:
    """Return the function to lint and its arguments.

    Raises:
        UsageError: The named function takes arguments itself, or returns something else.
    """
    name = target.partition("::")[2]
    if _takes_arguments(function):
        raise UsageError(
            f"{target} takes arguments: pass --inputs NAME, a function that returns them, or name "
            "a function without arguments that returns (fn, *args)"
        )
    made = _called(name, function)
    if not isinstance(made, tuple) or not made or not callable(made[0]):
        kind = returned(made)
        if isinstance(made, tuple) and made:
            kind += f" that begins with {returned(made[0])}"
        raise UsageError(f"{target} returned {kind}; return (fn, *args), as in loss, params, x")
    return made[0], made[1:]


def _takes_arguments(function: Callable[..., Any]) -> bool:
    """Return whether a function cannot be called without arguments."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # some functions that are written in C have no signature
        return False
    return False


def _called(name: str, function: Callable[[], Any]) -> Any:
    """Call a function of the user's file.

    Raises:
        RaisedError: It raised an exception.
    """
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise RaisedError(f"{name}() raised {described(error)}") from error
