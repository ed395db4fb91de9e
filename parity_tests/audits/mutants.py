"""Mutation testing: change one piece of the source at a time and require a test to fail.

    python -m parity_tests.audits.mutants                         run all removals
    python -m parity_tests.audits.mutants --sample 20             run a fixed sample
    python -m parity_tests.audits.mutants --list                  list the mutants without a run
    python -m parity_tests.audits.mutants --general --sample 20 --seed 3 parity/prove
    python -m parity_tests.audits.mutants --all-of jaxgrad/parity/ulp.py

Mutants are derived from the syntax trees of the cases and helpers, by the edits in `mutations`:
one operation is removed or, with `--general`, a comparison, an operator, a number or a condition
changes anywhere in `jaxgrad`. A mutant of a case or of a helper is killed by a parity cell or, if
no cell fails, by a test; a mutant of a package is killed by a test. The tests of `jaxgrad/x/y.py`
are `tests/jaxgrad/x/test_y.py`, then the other tests in that folder, then the test files that
import the module. A test that kills a mutant must pass without the mutant. `--all-of` makes every
general mutant of one file, each in a forked process, and runs its mirrored test file alone.
"""

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.machinery
import io
import multiprocessing
import os
import pathlib
import random
import re
import shlex
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import jax
import pytest

from parity_tests.audits.imports import imported_names
from parity_tests.audits.mutations import EDITS, Editor
from parity_tests.runner.settings import ROOT, configure


# The packages that are mutated, in addition to the cases.
FOLDERS = ("jaxgrad", "jaxgrad/_core", "jaxgrad/functional", "jaxgrad/optim", "jaxgrad/precision")
SECONDS = 120.0  # a forked run that takes longer is killed: the mutant loops for ever
PRELOADED = ("torch", "optax", "flax.nnx", "equinox")  # a forked run imports them from memory
UNKNOWN, NO_TESTS = 4, 5  # pytest's exit statuses for unknown tests and for an empty selection
VARIABLE = "JAXGRAD_MUTANT"  # path:kind:number, read by tests that run in a subprocess


class Mutant(NamedTuple):
    path: str  # relative to the root
    kind: str  # a key of `EDITS`
    number: int  # index among the mutants of this kind in the file
    line: int
    what: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line} {self.what}"

    @property
    def id(self) -> str:
        return f"{self.path}:{self.kind}:{self.number}"


def mutants(kind: str = "removal") -> list[Mutant]:
    """Return the mutants that remove code from cases and helpers, or general ones of `jaxgrad`."""
    if kind == "general":
        return [
            m for path in sorted((ROOT / "jaxgrad").rglob("*.py")) for m in mutants_of(path, kind)
        ]
    files = sorted((ROOT / "parity_tests" / "cases").glob("*.py"))
    for folder in FOLDERS:
        pattern = "*.py" if folder == "jaxgrad" else "**/*.py"
        files += sorted((ROOT / folder).glob(pattern))
    return [mutant for path in files for mutant in mutants_of(path, kind)]


def mutants_of(path: pathlib.Path, kind: str) -> list[Mutant]:
    """Return every mutant of one file, in order."""
    tree = ast.parse(path.read_text())
    counter = Editor(EDITS[kind])
    counter.visit(copy.deepcopy(tree))
    relative = str(path.relative_to(ROOT))
    return [
        Mutant(relative, kind, number, line, what, tree)
        for number, (line, what) in enumerate(counter.edits)
    ]


def mutate(mutant: Mutant) -> ast.Module:
    edited = Editor(EDITS[mutant.kind], mutant.number).visit(copy.deepcopy(mutant.tree))
    return ast.fix_missing_locations(edited)  # pyright: ignore[reportReturnType]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An import hook that loads the mutated source instead of the file on disk."""

    def __init__(self, mutant: Mutant):
        self.mutant = mutant
        self.module = mutant.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    def find_spec(self, fullname, path=None, target=None):
        del path, target
        if fullname != self.module:
            return None
        where = str(ROOT / self.mutant.path)
        package = fullname if where.endswith("__init__.py") else None
        spec = importlib.machinery.ModuleSpec(
            fullname, self, origin=where, is_package=package is not None
        )
        spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(ROOT / self.mutant.path)
        exec(compile(mutate(self.mutant), module.__file__, "exec"), module.__dict__)


def install(name: str) -> None:
    """Make this process import the mutant `path:kind:number` instead of the original file."""
    path, kind, number = name.rsplit(":", 2)
    matches = [m for m in mutants_of(ROOT / path, kind) if m.number == int(number)]
    if not matches:
        raise ValueError(f"{VARIABLE}={name}: {path} has no {kind} mutant {number}")
    sys.meta_path.insert(0, _Finder(matches[0]))


def _forget() -> None:
    """Remove helpers and cases from `sys.modules`, but keep the comparison in `jaxgrad.parity`."""
    for name in list(sys.modules):
        helper = name == "jaxgrad" or (
            name.startswith("jaxgrad.") and not name.startswith("jaxgrad.parity")
        )
        if helper or name.startswith(("parity_tests.case", "parity_tests.cases")):
            del sys.modules[name]


def killed_by(mutant: Mutant) -> str:
    """Return the first cell or test that fails with the mutant, or "" if the mutant survives."""
    in_package = mutant.path.startswith("jaxgrad/") and mutant.path.count("/") > 1
    return ("" if in_package else _killed_by_cell(mutant)) or _killed_by_test(mutant)


def _killed_by_cell(mutant: Mutant) -> str:
    from parity_tests.runner.engine import run

    finder = _Finder(mutant)
    sys.meta_path.insert(0, finder)
    _forget()
    try:
        cases = importlib.import_module("parity_tests.case").load()
        theme = pathlib.Path(mutant.path).stem
        in_cases = "cases/" in mutant.path and not theme.startswith("_")
        order = sorted(cases.values(), key=lambda c: (c.theme != theme, c.heavy))
        for case in order:
            if in_cases and case.theme != theme:
                break
            if case.heavy and case.theme != theme:
                continue
            modes = ("eager",) if case.heavy else case.modes
            for dtype in case.dtypes[:1]:
                for mode in modes:
                    if "cpu" in case.devices and not run(case, dtype, mode).passed:
                        return f"{case.id} {dtype} {mode}"
    except Exception as error:  # a mutant that cannot be imported counts as killed
        return f"{type(error).__name__}: {error}"
    finally:
        sys.meta_path.remove(finder)
        _forget()
    return ""


def _killed_by_test(mutant: Mutant) -> str:
    """Run the tests of the mutated file, starting with those that killed its other mutants."""
    known = _killers.setdefault(mutant.path, [])
    for tests in [known, *tests_of(mutant.path)]:
        failed, status = _pytest(tests, mutant.id) if tests else ("", 0)
        if status in (0, NO_TESTS) or (tests is known and status == UNKNOWN):
            continue
        if failed not in known:
            _check_without(failed, tests)
        if failed:
            known[:] = [failed, *(x for x in known if x != failed)]
        return failed or "pytest"
    return ""


_killers: dict[str, list[str]] = {}  # file -> the tests that killed mutants of that file


def _check_without(failed: str, tests: Sequence[str]) -> None:
    """Exit if a test also fails without the mutant, since such a test cannot kill a mutant."""
    _, status = _pytest([failed] if failed else ["--collect-only", *tests])
    if status not in (0, NO_TESTS) and not (failed and status == UNKNOWN):
        raise SystemExit(f"the test fails even without a mutant: {failed or shlex.join(tests)}")


def _killed_by_mirror(mutant: Mutant) -> str:
    """Run the mirrored test file of a mutant in a forked process."""
    tests = tests_of(mutant.path)[0]
    return shlex.join(tests) if _is_red(tests, mutant.id) else ""


def _is_red(tests: Sequence[str], mutant: str = "") -> bool:
    """Whether tests fail in a forked process, which shares the imports of this one."""
    fork = multiprocessing.get_context("fork")
    process = fork.Process(target=_exit_with_status, args=(tests, mutant))
    process.start()
    process.join(SECONDS)
    process.kill()
    process.join()
    return process.exitcode not in (0, NO_TESTS)


def _exit_with_status(tests: Sequence[str], mutant: str) -> None:
    with contextlib.redirect_stderr(io.StringIO()):
        sys.exit(_pytest(tests, mutant)[1])


def _all_of(path: str) -> list[Mutant]:
    """Return every general mutant of a file; exit if its mirrored test file is red without one."""
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    tests = tests_of(path)[0]
    if _is_red(tests):
        raise SystemExit(f"the tests fail even without a mutant: {shlex.join(tests)}")
    return mutants_of(ROOT / path, "general")


class _First:
    """A pytest plugin that records the first failing test."""

    failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _pytest(tests: Sequence[str], mutant: str = "") -> tuple[str, int]:
    """Run tests with a mutant; return the first failing test and pytest's exit status.

    The tests run in this process, because imports and compilation dominate a short test. The
    conftest and the tests' subprocesses read the mutant from an environment variable.
    """
    first, finders, kept = _First(), sys.meta_path[:], _taken_out()
    os.environ[VARIABLE] = mutant
    os.environ.setdefault("OPERATOR_SEED", "")  # a mutant of an operator meets every drawn call
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            # The modules that stay imported include plugins, which pytest would rewrite.
            ignored = "ignore::pytest.PytestAssertRewriteWarning"
            options = ["-x", "-q", "-p", "no:cacheprovider", "-W", ignored]
            status = pytest.main([*options, *tests], plugins=[first])
    finally:
        del os.environ[VARIABLE]
        sys.meta_path[:] = finders
        _taken_out()
        sys.modules.update(kept)
        jax.clear_caches()  # otherwise memory grows with every mutant
    return first.failed, int(status)


def _taken_out() -> dict[str, ModuleType]:
    """Remove the modules of this repository from `sys.modules` and return them.

    The tests are among them: pytest would reuse those that imported an earlier mutant.
    """
    ours = ("jaxgrad", "parity_tests", "tests")
    names = [name for name in sys.modules if name.split(".")[0] in ours]
    return {name: sys.modules.pop(name) for name in names}


def tests_of(mutated: str) -> list[list[str]]:
    """Return the arguments of each pytest run that may kill a mutant, the likeliest run first."""
    path = pathlib.PurePath(mutated)
    if path.parts[0] != "jaxgrad":  # mutants of cases are killed by their cells
        return []
    folder = ROOT / "tests" / path.parent
    stem = path.parent.name if path.stem == "__init__" else path.stem.strip("_")
    runs: list[list[pathlib.Path]] = []
    if path.parts[1] == "functional" and len(path.parts) == 4:  # a folder shares one test file
        runs, folder, stem = [_records(path.parts[2], path.stem)], folder.parent, path.parts[2]
    runs += [sorted(folder.glob(f"test_{stem}*.py")), sorted(folder.glob("test_*.py"))]
    runs.append(_importers(mutated.removesuffix(".py").replace("/", ".")))
    once: dict[str, None] = {}
    distinct = []
    for run in runs:
        fresh = [str(test) for test in run if str(test) not in once]
        once.update(dict.fromkeys(fresh))
        distinct += [fresh] if fresh else []
    return distinct


def _records(room: str, stem: str) -> list[pathlib.Path]:
    """Return the tests of the operators that have their records in `room/stem.py`."""
    path = ROOT / "parity_tests" / "operators" / room / f"{stem}.py"
    text = path.read_text() if path.exists() else ""
    names = re.findall(r'^@?operator\(\s*"([\w.]+)"', text, re.MULTILINE)
    test = ROOT / "tests" / "jaxgrad" / "functional" / f"test_{room}.py"
    return [test.with_name(f"{test.name}::test_operator[{name}]") for name in names]


def _importers(module: str) -> list[pathlib.Path]:
    """Return the test files that import a module, or a module of `jaxgrad` that imports it."""
    known = {module}
    for path in sorted((ROOT / "jaxgrad").rglob("*.py")):
        if module in _imports(path):
            known.add(str(path.relative_to(ROOT)).removesuffix(".py").replace("/", "."))
    tests = [p for p in sorted((ROOT / "tests").rglob("test_*.py")) if "goldens" not in p.parts]
    return [test for test in tests if known & _imports(test)]


def _imports(path: pathlib.Path) -> set[str]:
    """Return the dotted names that a file imports, and the modules that hold them."""
    names = imported_names(path)
    return {*names, *(name.rpartition(".")[0] for name in names)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    patterns = "mutate only files whose path contains PATTERN"
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help=patterns)
    parser.add_argument("--sample", type=int, metavar="N", help="run a sample of N mutants")
    text = "change a comparison, an operator, a number or a condition, anywhere in jaxgrad"
    parser.add_argument("--general", action="store_true", help=text)
    text = "make every general mutant of one file, and run its mirrored test file alone"
    parser.add_argument("--all-of", metavar="PATH", help=text)
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--list", action="store_true", help="list the mutants without running them")
    options = parser.parse_args(argv)
    configure()
    killer = _killed_by_mirror if options.all_of else killed_by
    kind = "general" if options.general else "removal"
    chosen = [
        m
        for m in (_all_of(options.all_of) if options.all_of else mutants(kind))
        if not options.patterns or any(p in m.path for p in options.patterns)
    ]
    if options.sample is not None and options.sample < len(chosen):
        chosen = sorted(
            random.Random(options.seed).sample(chosen, options.sample), key=lambda m: m[:3]
        )
    if options.list:
        print("\n".join(mutant.name for mutant in chosen))
        return 0
    survivors = []
    for count, mutant in enumerate(chosen, 1):
        by = killer(mutant)
        print(
            f"[{count}/{len(chosen)}] {'killed  ' if by else 'SURVIVED'} {mutant.name}  {by}",
            flush=True,
        )
        if not by:
            survivors.append(mutant)
    if survivors:
        print("\nsurvivors\n" + "\n".join(f"  {mutant.name}" for mutant in survivors))
    print(f"{len(chosen) - len(survivors)} killed, {len(survivors)} survived")
    print(f"{len(chosen) - len(survivors)} passed, {len(survivors)} failed")
    return 1 if survivors or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
