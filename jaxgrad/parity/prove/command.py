"""Load and run pairs: functions in the user's files that return the arguments of `prove`."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib.util
import inspect
import math
import pathlib
import sys
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from jaxgrad.parity.prove.prove import prove
from jaxgrad.parity.prove.report import Report


PREFIX = "pair"
_ARGUMENTS = tuple(inspect.signature(prove).parameters)


class UsageError(Exception):
    """The command line names a file or a function that does not exist."""


@dataclasses.dataclass(frozen=True)
class PortPair:
    """A function that returns the arguments of `prove`, with its name for the report."""

    name: str
    build: Callable[[], Any]


def seconds(text: str) -> float:
    """Convert the argument of `--time-limit`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value


def load(target: str, usage: str = "pair.py or pair.py::name") -> list[PortPair]:
    """Return the pairs that a target names.

    Args:
        target: `file.py::name`, or `file.py` for all functions whose names start with `pair`.
        usage: What the error about a missing file advises to pass.
    """
    file, _, name = target.partition("::")
    functions = functions_of(file, usage)
    pairs = [key for key in functions if key.startswith(PREFIX)]
    if name:
        return [PortPair(f"{pathlib.Path(file).name}::{name}", named(functions, file, name))]
    if not pairs:
        alone = without_arguments(file)
        select = f"select one with {file}::{alone[0]}" if alone else "write one that returns a pair"
        raise UsageError(
            f"{file} has no function whose name starts with {PREFIX!r}; it has "
            f"{_listed(_own(functions, file))}; {select}"
        )
    return [PortPair(f"{pathlib.Path(file).name}::{key}", functions[key]) for key in pairs]


def check_file(file: str, usage: str) -> None:
    """Check that a file of the user's exists.

    Raises:
        UsageError: It does not exist, or it is a folder; `usage` is what to pass instead.
    """
    path = pathlib.Path(file)
    if path.is_dir():
        raise UsageError(f"{file!r} is a folder; pass {usage}")
    if not path.is_file():
        raise UsageError(f"the file {file!r} does not exist; pass {usage}")


def functions_of(file: str, usage: str) -> dict[str, Callable[..., Any]]:
    """Import a file of the user's, and return its functions by name.

    Raises:
        UsageError: The file does not exist, or raises; `usage` is what to pass instead.
    """
    check_file(file, usage)
    return {
        key: value
        for key, value in vars(_imported(pathlib.Path(file))).items()
        if callable(value) and not inspect.isclass(value) and not key.startswith("_")
    }


def named(functions: Mapping[str, Callable[..., Any]], file: str, name: str) -> Callable[..., Any]:
    """Return the function with this name.

    Raises:
        UsageError: There is none; the message lists those that the file has.
    """
    if name not in functions:
        own = _listed(_own(functions, file))
        raise UsageError(f"{file} has no function {name!r}; it has {own}")
    return functions[name]


def without_arguments(file: str) -> list[str]:
    """Return the functions that a file defines and that can be called without arguments.

    The file is read and not imported.
    """
    try:
        tree = ast.parse(pathlib.Path(file).read_text())
    except (OSError, SyntaxError, ValueError):
        return []
    defined = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return [node.name for node in defined if not (node.name.startswith("_") or _needs(node.args))]


def _needs(arguments: ast.arguments) -> bool:
    """Whether a function has arguments without a default."""
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional > 0 or None in arguments.kw_defaults


def nameless(file: str, what: str) -> str:
    """Return the error of a target that names no function.

    Args:
        file: The file.
        what: What the function returns.
    """
    alone = without_arguments(file)
    if not alone:
        return (
            f"name the function that returns {what}, as in {file}::make: {file} defines no "
            "function that can be called without arguments"
        )
    others = f"; {file} also has {', '.join(alone[1:])}" if alone[1:] else ""
    return f"name the function that returns {what}, as in {file}::{alone[0]}{others}"


def _own(functions: Mapping[str, Callable[..., Any]], file: str) -> list[str]:
    """Return the functions that a file defines itself, and does not import."""
    path = pathlib.Path(file).resolve()

    def is_own(function: Callable[..., Any]) -> bool:
        defined = getattr(function, "__globals__", {}).get("__file__", path)
        return pathlib.Path(defined).resolve() == path

    return [name for name, function in functions.items() if is_own(function)]


def run(
    pair: PortPair,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
    time_limit: float | None = None,
) -> Report:
    """Prove a pair, and report an exception or a wrong return value of its function as an error.

    Args:
        pair: The pair.
        seed: The seed of the proof, unless it is None.
        progress: A function that gets the names of the steps.
        time_limit: Seconds after which the proof ends, unless it is None.
    """
    try:
        result = pair.build()
    except (Exception, SystemExit) as error:  # `sys.exit()` would end the other proofs silently
        if _no_torch(error):
            raise
        return Report.error(f"{pair.name}() raised {_described(error)}", pair.name)
    if isinstance(result, tuple) and len(result) in (3, 4):
        result = dict(zip(_ARGUMENTS, result, strict=False))
    if isinstance(result, Mapping):
        unknown = [key for key in result if key not in _ARGUMENTS]
        missing = [key for key in ("module", "fn") if key not in result]
        if unknown or missing:
            wrong = f"has unknown keys {unknown}" if unknown else f"lacks the keys {missing}"
            return Report.error(
                f"the dict that {pair.name}() returned {wrong}; the arguments of prove are "
                f"{', '.join(_ARGUMENTS)}",
                pair.name,
            )
        arguments: dict[str, Any] = {"progress": progress, **result}
        if seed is not None:
            arguments["seed"] = seed
        if time_limit is not None:
            arguments["time_limit"] = time_limit
        result = prove(**arguments)
    if not isinstance(result, Report):
        return Report.error(
            f"{pair.name}() returned {type(result).__name__}; return a dict of the arguments of "
            "prove, the tuple (module, fn, params, inputs), or a Report",
            pair.name,
        )
    return dataclasses.replace(result, name=f"{pair.name}  {result.name}".rstrip())


def called(functions: Mapping[str, Callable[..., Any]], file: str, name: str) -> Any:
    """Return what one of the functions of a user's file returns.

    Raises:
        UsageError: The file has no such function, or it raised an exception.
    """
    function = named(functions, file, name)
    try:
        return function()
    except (Exception, SystemExit) as error:
        if _no_torch(error):
            raise
        raise UsageError(f"{name}() raised {_described(error)}") from error


def _imported(path: pathlib.Path) -> ModuleType:
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # a pair may import a model from the same folder
    name = f"_pairs_{path.stem}"  # the file may have the name of an installed module
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        if _no_torch(error):
            raise
        raise UsageError(f"{path} cannot be imported: it raised {_described(error)}") from error
    return module


def _no_torch(error: BaseException) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name == "torch"


def _described(error: BaseException) -> str:
    """Describe an exception raised by the user's code, with the innermost line of that code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "site-packages" not in f.filename and f.filename[0] != "<"]
    own = [f for f in own if pathlib.Path(f.filename).parent != pathlib.Path(__file__).parent]
    where = f" at {pathlib.Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    return f"{type(error).__name__}{where}: {error}"


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "no function"
