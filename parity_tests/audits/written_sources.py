"""Check the source of ports as text: its numbers, its format, and what ruff and pyright say of it.

Names and unused arguments are those of the torch program, so that the rules on them are left out.
"""

from __future__ import annotations

import ast
import inspect
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import jax
from torch import nn

from jaxgrad.parity.interop import to_numpy


ROOT = pathlib.Path(__file__).parents[2]
AUTHORS = "ARG,B905,E741,N,PLW2901"  # rules on the names and arguments of the torch program
_SHAPE = re.compile(r"\((?:[\w'|*/+ -]+(?:, |,(?=\))|(?=\))))*\)")


def large_numbers(module: nn.Module, inputs: Any, source: str) -> list[int]:
    """Return the integers of a port that are greater than every number of the torch program.

    Such a number is a product of sizes of the example, or of the numbers with which the port ran
    to find the sizes that may change.
    """
    largest = max(_configured(module, inputs), default=0)
    return sorted({n for n in _numbers(source) if n > largest})


def _configured(module: nn.Module, inputs: Any) -> Iterator[int]:
    """Yield the sizes of the weights and of the example, and the integers of the configuration."""
    arrays = [*module.state_dict().values(), *jax.tree.leaves(to_numpy(inputs))]
    yield from (size for x in arrays for size in x.shape)
    files = {inspect.getsourcefile(type(m)) or "" for m in module.modules()}
    for part in module.modules():
        values = [v for k, v in vars(part).items() if k[0] != "_"]
        yield from (n for v in values for n in jax.tree.leaves(v) if type(n) is int)
    for file in files:
        tree = ast.parse(pathlib.Path(file).read_text(encoding="utf-8"))
        constants = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
        yield from (int(x) for x in constants if isinstance(x, int | float) and x % 1 == 0)


def _numbers(source: str) -> Iterator[int]:
    """Yield the integers of a file's code, and those of the shapes in its docstrings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield node.value
        if isinstance(node, ast.FunctionDef):
            for shape in _SHAPE.findall(ast.get_docstring(node) or ""):
                yield from map(int, re.findall(r"\d+", shape))


def findings(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what ruff and pyright find in written files, by the names of the files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, source in sources.items():
            (pathlib.Path(folder) / f"{name}.py").write_text(source, encoding="utf-8")
        lines = [*_ruff(folder), *_unformatted(folder), *_pyright(folder)]
    found: dict[str, list[str]] = {name: [] for name in sources}
    for file, text in lines:
        found[pathlib.Path(file).stem].append(text)
    return found


def _ruff(folder: str) -> Iterator[tuple[str, str]]:
    """Yield what ruff finds with its default rules, and with those of this project."""
    own = ["--config", str(ROOT / "pyproject.toml"), "--extend-ignore", f"{AUTHORS},I001"]
    for options in (["--isolated"], own):
        arguments = ["check", "--no-cache", "--output-format=json", *options, "."]
        for x in json.loads(_run(folder, "ruff", *arguments)):
            yield x["filename"], f"{x['code']} {x['message']} (line {x['location']['row']})"


def _unformatted(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the files that ruff's formatter changes."""
    before = {file: file.read_text() for file in pathlib.Path(folder).glob("*.py")}
    _run(folder, "ruff", "format", "--no-cache", "--isolated", "--line-length=100", ".")
    for file, text in before.items():
        if file.read_text() != text:
            yield str(file), "ruff format changes it"
            file.write_text(text)


def _pyright(folder: str) -> Iterator[tuple[str, str]]:
    settings = {"extraPaths": [str(ROOT)], "pythonVersion": "3.11"}
    (pathlib.Path(folder) / "pyrightconfig.json").write_text(json.dumps(settings))
    text = _run(folder, "pyright", "--outputjson", "--pythonpath", sys.executable, ".")
    for x in json.loads(text)["generalDiagnostics"]:
        yield x["file"], f"pyright: {x['message'].splitlines()[0]}"


def _run(folder: str, tool: str, *arguments: str) -> str:
    """Return what a tool of this environment prints in a folder."""
    program = pathlib.Path(sys.executable).with_name(tool)
    return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True).stdout
