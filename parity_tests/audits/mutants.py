"""Take every piece away, one at a time: the suite must go red.

    python -m parity_tests.audits.mutants               all of them; lists the survivors
    python -m parity_tests.audits.mutants --sample 20   a fixed sample
    python -m parity_tests.audits.mutants --list        what would be taken away

The pieces are found mechanically in the syntax trees of the cases and the helpers: each
`stop_gradient`, hook, clip, mask, rule about `None`, and epsilon. A mutant of a case or of a helper
is killed by a parity cell or, if none fails, by a test; a mutant of a package by a test. The tests
of `jaxgrad/x/y.py` are `tests/jaxgrad/x/test_y.py`, then those beside it, then the files that
import it. A test that kills a mutant must pass without it.
"""

import argparse
import ast
import contextlib
import copy
import functools
import importlib
import importlib.abc
import importlib.machinery
import io
import os
import pathlib
import random
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import jax
import pytest

from parity_tests.runner.settings import ROOT, configure


PASS_THROUGH = {
    "backward_hook",
    "checkpoint",
    "checkpoint_name",
    "clip",
    "clip_grad_value",
    "hook",
    "maximum",
    "minimum",
    "nan_to_num",
    "optimization_barrier",
    "retain_grad",
    "reverse_gradient",
    "stop_gradient",
    "straight_through",
}
# The packages whose files have mutants, beside the cases.
FOLDERS = ("jaxgrad", "jaxgrad/_core", "jaxgrad/functional", "jaxgrad/optim", "jaxgrad/precision")
EPSILON = 1e-3  # a positive literal up to this is one
UNKNOWN, NO_TESTS = 4, 5  # pytest's exit status for tests that it does not find, and for none
VARIABLE = "JAXGRAD_MUTANT"  # path:number, for the tests that run in a process of their own


class Mutant(NamedTuple):
    path: str  # relative to the root
    number: int  # in the file
    line: int
    what: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line} {self.what}"


Edit = tuple[str, Callable[[], ast.AST | None]]


def _edits(node: ast.AST) -> Iterator[Edit]:
    """The pieces that can be taken out at this node: what it is, and what stands there instead."""
    if isinstance(node, ast.Call):
        name = _name(node.func)
        if name in PASS_THROUGH and node.args:
            yield f"without {name}", lambda: node.args[0]
        elif name == "where" and len(node.args) == 3:
            yield "mask always on", lambda: node.args[1]
            yield "mask always off", lambda: node.args[2]
        elif name == "select" and len(node.args) == 3:
            yield "select always on", lambda: node.args[1]
            yield "select always off", lambda: node.args[2]
    elif isinstance(node, ast.IfExp) and (_is_none(node.body) or _is_none(node.orelse)):
        kept = node.orelse if _is_none(node.body) else node.body
        yield "never None", lambda: kept
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and _is_none(node.comparators[0]):
        if isinstance(node.ops[0], ast.Is):
            yield "`is None` never", lambda: ast.Constant(False)
        elif isinstance(node.ops[0], ast.IsNot):
            yield "`is not None` always", lambda: ast.Constant(True)
    elif isinstance(node, ast.Constant) and type(node.value) is float and 0 < node.value <= EPSILON:
        yield f"epsilon {node.value:g} is 0", lambda: ast.Constant(0.0)
    elif isinstance(node, ast.arguments):
        for place, default in enumerate(node.kw_defaults):
            name = _name(default) if default is not None else ""
            if name in PASS_THROUGH:
                yield f"default {name} is the identity", lambda place=place: _default(node, place)


def _default(node: ast.arguments, place: int) -> ast.arguments:
    node.kw_defaults[place] = ast.parse("lambda x, *args, **kwargs: x", mode="eval").body
    return node


def _name(node: ast.AST | None) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Editor(ast.NodeTransformer):
    """Applies the n-th edit; with n = -1 only counts."""

    def __init__(self, target: int = -1):
        self.target, self.found = target, []

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Assert):  # for the type checker: no caller makes it false
            return node
        replacement = node
        for what, edit in _edits(node):
            if len(self.found) == self.target:
                made = edit()
                assert made is not None
                replacement = ast.copy_location(made, node)
            self.found.append((getattr(node, "lineno", _line(node)), what))
        if replacement is not node:
            self.target = -2
        return self.generic_visit(replacement)


def _line(node: ast.AST) -> int:
    return min((n.lineno for n in ast.walk(node) if hasattr(n, "lineno")), default=0)  # pyright: ignore[reportAttributeAccessIssue]


def mutants() -> list[Mutant]:
    """Return every mutant of every case and every helper, in order."""
    files = sorted((ROOT / "parity_tests" / "cases").glob("*.py"))
    for folder in FOLDERS:
        pattern = "*.py" if folder == "jaxgrad" else "**/*.py"
        files += sorted((ROOT / folder).glob(pattern))
    return [mutant for path in files for mutant in mutants_of(path)]


def mutants_of(path: pathlib.Path) -> list[Mutant]:
    """Every mutant of one file, in order."""
    tree = ast.parse(path.read_text())
    counter = _Editor()
    counter.visit(copy.deepcopy(tree))
    relative = str(path.relative_to(ROOT))
    return [
        Mutant(relative, number, line, what, tree)
        for number, (line, what) in enumerate(counter.found)
    ]


def mutate(mutant: Mutant) -> ast.Module:
    return ast.fix_missing_locations(_Editor(mutant.number).visit(copy.deepcopy(mutant.tree)))  # pyright: ignore[reportReturnType]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutated file instead of the one on disk."""

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
    """Put one mutant, `path:number`, in the place of its file for this process."""
    path, number = name.rsplit(":", 1)
    found = [m for m in mutants_of(ROOT / path) if m.number == int(number)]
    if not found:
        raise ValueError(f"{VARIABLE}={name}: {path} has no mutant {number}")
    sys.meta_path.insert(0, _Finder(found[0]))


def _forget() -> None:
    """The next import of helpers and cases starts afresh; the engine of comparison stays."""
    for name in list(sys.modules):
        helper = name == "jaxgrad" or (
            name.startswith("jaxgrad.") and not name.startswith("jaxgrad.parity")
        )
        if helper or name.startswith(("parity_tests.case", "parity_tests.cases")):
            del sys.modules[name]


def killed_by(mutant: Mutant) -> str:
    """The first thing that goes red, or an empty string for a survivor."""
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
        for made in order:
            if in_cases and made.theme != theme:
                break
            if made.heavy and made.theme != theme:
                continue
            modes = ("eager",) if made.heavy else made.modes
            for dtype in made.dtypes[:1]:
                for mode in modes:
                    if "cpu" in made.devices and not run(made, dtype, mode).passed:
                        return f"{made.id} {dtype} {mode}"
    except Exception as error:  # a mutant that cannot even be imported is red
        return f"{type(error).__name__}: {error}"
    finally:
        sys.meta_path.remove(finder)
        _forget()
    return ""


def _killed_by_test(mutant: Mutant) -> str:
    """The tests that killed others of the file come first: they see most of it."""
    known = _killers.setdefault(mutant.path, [])
    for tests in [known, *tests_of(mutant.path)]:
        failed, status = _pytest(tests, f"{mutant.path}:{mutant.number}") if tests else ("", 0)
        if status in (0, NO_TESTS) or (tests is known and status == UNKNOWN):
            continue
        if failed not in known:
            _check_without(failed, tests)
        if failed:
            known[:] = [failed, *(x for x in known if x != failed)]
        return failed or "pytest"
    return ""


_killers: dict[str, list[str]] = {}  # of each file


def _check_without(failed: str, tests: Sequence[str]) -> None:
    """A test that is red without a mutant, or that pytest does not find, kills none."""
    _, status = _pytest([failed] if failed else ["--collect-only", *tests])
    if status not in (0, NO_TESTS) and not (failed and status == UNKNOWN):
        raise SystemExit(f"without a mutant it is red as well: {failed or shlex.join(tests)}")


class _First:
    """The first test that fails, as a plugin of pytest."""

    failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _pytest(tests: Sequence[str], mutant: str = "") -> tuple[str, int]:
    """What fails with `mutant` in the place of its file, and pytest's exit status.

    In this process, as most of the time of a short test is that of the imports and of compiling;
    the conftest finds the mutant where tests that start a process of their own find it.
    """
    first, finders, kept = _First(), sys.meta_path[:], _taken_out()
    os.environ[VARIABLE] = mutant
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            options = ["-x", "-q", "-p", "no:cacheprovider"]
            status = pytest.main([*options, *tests], plugins=[first])
    finally:
        del os.environ[VARIABLE]
        sys.meta_path[:] = finders
        _taken_out()
        sys.modules.update(kept)
        jax.clear_caches()  # or the process grows with every mutant
    return first.failed, int(status)


def _taken_out() -> dict[str, ModuleType]:
    """The modules of this repository, whose next import starts afresh."""
    ours = [name for name in sys.modules if name.split(".")[0] in ("jaxgrad", "parity_tests")]
    return {name: sys.modules.pop(name) for name in ours}


def tests_of(mutated: str) -> list[list[str]]:
    """Return the arguments of each pytest run that may kill a mutant, the likeliest run first."""
    path = pathlib.PurePath(mutated)
    if path.parts[0] != "jaxgrad":  # a case is killed by its cells
        return []
    folder = ROOT / "tests" / path.parent
    stem = path.parent.name if path.stem == "__init__" else path.stem.lstrip("_")
    runs: list[list[pathlib.Path]] = []
    if path.parts[1] == "functional" and len(path.parts) == 4:  # one test file a room
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
    """Return the tests of the operators whose records are in the file of the same room and stem."""
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
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    return [test for test in tests if known & _imports(test)]


@functools.cache
def _imports(path: pathlib.Path) -> frozenset[str]:
    """Return the dotted names that a file imports."""
    nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    return frozenset(names | {str(node.module) for node in nodes})


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of a path")
    parser.add_argument("--sample", type=int, metavar="N", help="a fixed sample of N")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(argv)
    configure()
    chosen = [
        m for m in mutants() if not options.patterns or any(p in m.path for p in options.patterns)
    ]
    if options.sample is not None and options.sample < len(chosen):
        chosen = sorted(random.Random(0).sample(chosen, options.sample), key=lambda m: m[:2])
    if options.list:
        print("\n".join(mutant.name for mutant in chosen))
        return 0
    survivors = []
    for count, mutant in enumerate(chosen, 1):
        by = killed_by(mutant)
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
