"""The commands `port` and `verify` of `python -m jaxgrad.parity`."""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jaxgrad
from jaxgrad.parity.port.proof import verifying
from jaxgrad.parity.prove.command import UsageError, load
from jaxgrad.parity.prove.report import Report


Show = Callable[[str], None]


def port_command(argv: Sequence[str], progress: Show) -> list[Report]:
    """Write and prove the port of a module that a function of the user's file returns.

    Raises:
        UsageError: The function does not return a module and its inputs.
        PortError: The module cannot be ported.
    """
    parser = argparse.ArgumentParser(prog="python -m jaxgrad.parity port", description=__doc__)
    add = parser.add_argument
    add(
        "target", metavar="FILE::NAME", help="a function that returns a module, or (module, inputs)"
    )
    add("-o", "--output", metavar="FILE", required=True, help="the Python file to write")
    add("--inputs", metavar="NAME", help="a function of the same file that returns the inputs")
    add(
        "--style",
        choices=verifying.STYLES,
        default="functions",
        help="functions, or flax nnx classes",
    )
    add("--holes", action="store_true", help="leave what is refused to be written by hand")
    add("--scan", action="store_true", help="write loops over equal layers as lax.scan")
    options = parser.parse_args(argv)
    file, _, name = options.target.partition("::")
    if not name:
        raise UsageError(f"name the function that returns the module: {file}::make_model")
    module, inputs = _built(options.target, file, options.inputs)
    output = pathlib.Path(options.output)
    if not output.absolute().parent.is_dir():
        raise UsageError(f"{output} cannot be written: there is no folder {output.parent}")
    chosen = {"style": options.style, "scan": options.scan, "holes": options.holes}
    ported = jaxgrad.port(module, inputs, **chosen, progress=progress)
    progress("save")
    ported.write(output)
    print(f"{output}: {ported.usage}, {len(ported.source.splitlines())} lines")
    for hole in ported.holes:
        print(hole)
    return list(ported.reports.values())


def _built(target: str, file: str, inputs: str | None) -> tuple[Any, Any]:
    """Return the module and its inputs."""
    made = load(target)[0].build()
    if isinstance(made, Mapping):
        made = made.get("module"), made.get("inputs")
    if inputs is not None:
        module = made[0] if isinstance(made, tuple) else made
        return module, load(f"{file}::{inputs}")[0].build()
    if not isinstance(made, tuple) or len(made) != 2 or made[1] is None:
        raise UsageError(
            f"{target} returns {type(made).__name__}; return (module, inputs), or pass "
            "--inputs NAME, a function that returns the inputs"
        )
    return made[0], made[1]


def verify_command(argv: Sequence[str], progress: Show) -> list[Report]:
    """Prove a written port again, from the files beside it.

    Raises:
        UsageError: There are no such files.
    """
    parser = argparse.ArgumentParser(prog="python -m jaxgrad.parity verify", description=__doc__)
    parser.add_argument("file", metavar="FILE", help="a port that `port` has written")
    source = pathlib.Path(parser.parse_args(argv).file)
    reports: list[Report] = []
    try:
        if verifying.has_changed(verifying.Files(source)):
            print(f"{source} has changed since it was written", file=sys.stderr)
        reports += [report for _, report in verifying.verify(source, progress)]
    except verifying.NoProof as error:
        raise UsageError(str(error)) from None
    return reports


COMMANDS = {"port": port_command, "verify": verify_command}
