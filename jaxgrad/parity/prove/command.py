"""Files of pairs: functions that give the arguments of `prove`, found by name and run."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import pathlib
import sys
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from jaxgrad.parity.prove.prove import prove
from jaxgrad.parity.prove.report import SURFACES, Report, Surface


PREFIX = "pair"
_TAKES = tuple(inspect.signature(prove).parameters)


class UsageError(Exception):
    """What was asked for is not there."""


@dataclasses.dataclass(frozen=True)
class Pair:
    """One function of a file, by its name."""

    name: str
    make: Callable[[], Any]


def load(target: str) -> list[Pair]:
    """The pairs that a target names.

    Args:
      target: `file.py::name`; or `file.py` for every function whose name starts with `pair`.

    Raises:
      UsageError: There is no such file, no such name, or no pair; it says what there is.
    """
    file, _, name = target.partition("::")
    path = pathlib.Path(file)
    if not path.is_file():
        raise UsageError(f"there is no file {file!r}; give pair.py or pair.py::name")
    found = {
        key: value
        for key, value in vars(_imported(path)).items()
        if callable(value) and not inspect.isclass(value) and not key.startswith("_")
    }
    pairs = [key for key in found if key.startswith(PREFIX)]
    if name and name not in found:
        raise UsageError(f"{file} has no function {name!r}; it has {_listed(pairs or list(found))}")
    if not name and not pairs:
        raise UsageError(
            f"{file} has no function whose name starts with {PREFIX!r}; it has "
            f"{_listed(list(found))}; name one: {file}::{next(iter(found), 'name')}"
        )
    return [Pair(f"{path.name}::{key}", found[key]) for key in ([name] if name else pairs)]


def run(
    pair: Pair, seed: int | None = None, progress: Callable[[str], None] | None = None
) -> Report:
    """Prove a pair; what its own function raises, or gives instead of arguments, is an error.

    Args:
      pair: From `load`.
      seed: Instead of the pair's own.
      progress: Called with the name of each step as it begins.
    """
    try:
        made = pair.make()
    except Exception as error:
        if _no_torch(error):
            raise
        return _error(f"{pair.name}() raised {_said(error)}", pair.name)
    if isinstance(made, tuple) and len(made) in (3, 4):
        made = dict(zip(_TAKES, made, strict=False))
    if isinstance(made, Mapping):
        unknown = [key for key in made if key not in _TAKES]
        missing = [key for key in ("module", "fn") if key not in made]
        if unknown or missing:
            wrong = f"unknown {unknown}" if unknown else f"missing {missing}"
            return _error(
                f"{pair.name}() gave {wrong}; the arguments of prove are {', '.join(_TAKES)}",
                pair.name,
            )
        given: dict[str, Any] = {"progress": progress, **made}
        if seed is not None:
            given["seed"] = seed
        made = prove(**given)
    if not isinstance(made, Report):
        return _error(
            f"{pair.name}() gave {type(made).__name__}; give a dict of the arguments of prove, the "
            "tuple (module, fn, params, inputs), or a Report",
            pair.name,
        )
    return dataclasses.replace(made, name=f"{pair.name}  {made.name}".rstrip())


def _imported(path: pathlib.Path) -> ModuleType:
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # a pair imports the model that lies beside it
    name = f"_pairs_{path.stem}"  # a file may be called as some module is
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        if _no_torch(error):
            raise
        raise UsageError(f"{path} cannot be imported: it raised {_said(error)}") from error
    return module


def _no_torch(error: BaseException) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name == "torch"


def _said(error: BaseException) -> str:
    """An exception of the user's code, with the innermost line of it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "site-packages" not in f.filename and f.filename[0] != "<"]
    own = [f for f in own if pathlib.Path(f.filename).parent != pathlib.Path(__file__).parent]
    where = f" at {pathlib.Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    return f"{type(error).__name__}{where}: {error}"


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "no function"


def _error(text: str, name: str) -> Report:
    surfaces = {surface: Surface(surface, "not judged", "") for surface in SURFACES}
    return Report("error", surfaces, text=text, name=name)
