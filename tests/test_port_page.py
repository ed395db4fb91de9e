"""The page `docs/port.md` shows ports as they are written."""

import importlib.util
import pathlib
import re
import runpy
from typing import Any

import numpy as np
import pytest
from torch import nn

from jaxgrad._core.torch_versions import NEWEST, convention
from jaxgrad.parity.__main__ import main
from jaxgrad.parity.port.port import port
from parity_tests.runner.settings import ROOT
from tests.jaxgrad.parity.port._ports import source


# The page was written with the newest torch; replace its version by the installed one's.
PAGE = (ROOT / "docs" / "port.md").read_text().replace(f'at("{NEWEST}")', f'at("{convention()}")')
PAIRS = re.findall(
    r"```python\n([^`]*)```\n\nThe port, after its docstring:\n\n```python\n([^`]*)```", PAGE
)
CLASSES = re.findall(r"as classes:\n\n```python\n([^`]*)```", PAGE)
INPUTS: dict[str, tuple[Any, ...]] = {
    "attention": (np.ones((2, 3, 8), np.float32),),
    "gradients": (np.ones((3, 4), np.float32), np.array([True, False, False])),
    "modes": (np.ones((2, 2, 4, 4), np.float32),),
}


def module_of(name: str, code: str, folder: pathlib.Path) -> nn.Module:
    """Return the last module that a piece of code defines."""
    path = folder / "models" / f"{name}.py"
    path.parent.mkdir()
    path.write_text(code)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    classes = [x for x in vars(made).values() if isinstance(x, type) and issubclass(x, nn.Module)]
    return classes[-1]()


@pytest.mark.parametrize(("name", "pair"), [*zip(INPUTS, PAIRS, strict=True)], ids=INPUTS)
def test_the_port_of_each_module_is_the_one_on_the_page(name, pair, tmp_path):
    """The module on the page has the port on the page."""
    module, written = pair
    assert body(source(module_of(name, module, tmp_path), *INPUTS[name])) == written.strip()


def test_the_classes_on_the_page_are_those_of_its_module(tmp_path):
    """The last module on the page has the flax classes on the page."""
    (written,) = CLASSES
    module = module_of("modes", PAIRS[-1][0], tmp_path)
    ported = port(module, INPUTS["modes"], style="nnx", prove=False)
    assert body(ported.source) == written.strip()


def test_the_commands_on_the_page_print_its_lines(tmp_path, monkeypatch, capsys):
    """The file on the page is ported and proved again; `...` stands for the rest of a report."""
    (model,) = re.findall(r"This is `mymodel.py`:\n\n```python\n([^`]*)```", PAGE)
    (shell,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    pathlib.Path("mymodel.py").write_text(model)
    for part in shell.split("$ python -m jaxgrad.parity ")[1:]:
        command, *lines, rest = part.strip().split("\n")
        assert main(command.split()) == 0
        assert capsys.readouterr().out.startswith("\n".join(lines)) and rest == "..."


def test_the_training_step_on_the_page_is_that_of_its_program(tmp_path):
    """The program on the page writes and proves the training step on the page."""
    pattern = (
        r"training loop does:\n\n```python\n([^`]*)```.*?step in the port:\n\n```python\n(.*?)```"
    )
    ((program, written),) = re.findall(pattern, PAGE, re.DOTALL)
    path = tmp_path / "train.py"
    path.write_text(program)
    ported = runpy.run_path(str(path))["ported"]
    assert ported.source.endswith(written) and ported.reports["step"].verdict == "pass"


def body(source: str) -> str:
    """Return a port without its docstring."""
    return source.removeprefix('"""').partition('"""')[2].strip()
