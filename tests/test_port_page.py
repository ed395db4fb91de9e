"""The page `docs/port.md` shows ports as they are written."""

import pathlib
import re
import runpy

import pytest

from jaxgrad._core.torch_versions import NEWEST, convention
from jaxgrad.parity.__main__ import main
from jaxgrad.parity.port.port import port
from parity_tests.port_collection import gallery
from tests.jaxgrad.parity.port._ports import source


def as_installed(text: str) -> str:
    """Return a text of the page, whose torch is the newest, with the installed torch's version."""
    return text.replace(f'at("{NEWEST}")', f'at("{convention()}")')


WRITTEN = {name: as_installed(ported) for name, (_, ported) in gallery.pairs().items()}
CLASSES = re.findall(r"as classes:\n\n```python\n([^`]*)```", as_installed(gallery.PAGE))


@pytest.mark.parametrize(("name", "written"), WRITTEN.items(), ids=WRITTEN)
def test_the_port_of_each_module_is_the_one_on_the_page(name, written, tmp_path):
    """The module on the page has the port on the page."""
    module, inputs = gallery.example(name, tmp_path)
    assert body(source(module, *inputs)) == written.strip()


def test_the_classes_on_the_page_are_those_of_its_module(tmp_path):
    """The last module on the page has the flax classes on the page."""
    (written,) = CLASSES
    module, inputs = gallery.example("modes", tmp_path)
    ported = port(module, inputs, style="nnx", prove=False)
    assert body(ported.source) == written.strip()


def test_the_commands_on_the_page_print_its_lines(tmp_path, monkeypatch, capsys):
    """The file on the page is ported and proved again; `...` stands for the rest of a report."""
    (model,) = re.findall(r"This is `mymodel.py`:\n\n```python\n([^`]*)```", gallery.PAGE)
    (shell,) = re.findall(r"```console\n(.*?)```", gallery.PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    pathlib.Path("mymodel.py").write_text(model)
    for part in shell.split("$ python -m jaxgrad.parity ")[1:]:
        command, *lines, rest = part.strip().split("\n")
        assert main(command.split()) == 0
        assert capsys.readouterr().out.startswith("\n".join(lines)) and rest == "..."

    pattern = r"checkpoint into the file's params.*?```python\n(.*?)```\n\n```text\n(.*?)```"
    ((program, printed),) = re.findall(pattern, gallery.PAGE, re.DOTALL)
    monkeypatch.syspath_prepend(str(tmp_path))
    exec(compile(program, "load.py", "exec"), {})
    assert capsys.readouterr().out == printed


def test_the_training_step_on_the_page_is_that_of_its_program(tmp_path):
    """The program on the page writes and proves the training step on the page."""
    pattern = (
        r"training loop does:\n\n```python\n([^`]*)```.*?step in the port:\n\n```python\n(.*?)```"
    )
    ((program, written),) = re.findall(pattern, as_installed(gallery.PAGE), re.DOTALL)
    path = tmp_path / "train.py"
    path.write_text(program)
    ported = runpy.run_path(str(path))["ported"]
    assert ported.source.endswith(written) and ported.reports["step"].verdict == "pass"


def body(source: str) -> str:
    """Return a port without its docstring."""
    return source.removeprefix('"""').partition('"""')[2].strip()
