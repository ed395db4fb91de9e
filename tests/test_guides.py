"""The guides for contributors quote files that exist, and their example is what the code prints."""

import ast
import importlib.util
import itertools
import re
import sys
from unittest import mock

import numpy as np
import pytest

from jaxgrad.parity.port.interpretation import interpretation
from jaxgrad.parity.port.ir import How, Key, NameOf, Number, Part
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.writer import function_text
from parity_tests.audits import golden_ports
from parity_tests.runner.settings import ROOT


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PORTER = ROOT / "jaxgrad" / "parity" / "port"
GUIDE = (PORTER / "README.md").read_text()
RECIPES = CONTRIBUTING[CONTRIBUTING.index("## Adding a call of torch to the porter") :]
QUOTES = re.findall(r"```(?:python\n# |diff\n\+\+\+ )(\S+)\n(.*?)```", RECIPES, re.DOTALL)
BLOCKS = re.findall(r"```(?:python|text|diff)\n(.*?)```", GUIDE, re.DOTALL)
PICTURE, CLASS, MODES, MERGED, WRITTEN, REFUSAL, DIFF = BLOCKS


@pytest.mark.parametrize(("path", "code"), QUOTES, ids=[path for path, _ in QUOTES])
def test_a_recipe_quotes_its_file(path, code):
    """Each line that a recipe for the porter or prover quotes is a line of the named file."""
    lines = {line.strip() for line in (ROOT / path).read_text().splitlines()}
    quoted = [line.removeprefix("+").strip() for line in code.splitlines()]
    missing = [line for line in quoted if line not in (*lines, "", "...")]

    assert not missing, f"{path} has no such line; quote the file as it is"


def test_every_file_that_a_guide_names_exists():
    """A path in backticks, or in a table of a recipe, is a file or a folder of the repository."""
    named = re.findall(r"`((?:[a-z_]+|\.\w+)/[\w./]*)`", CONTRIBUTING)
    named = [x for x in named if x not in ("hooks/register_hook", "rules/", "finish/")]
    paths = [(ROOT, x) for x in named] + [
        (PORTER, x) for x in re.findall(r"`([\w.]+/[\w./]*)`", GUIDE)
    ]
    bases = ROOT, ROOT / "jaxgrad"
    missing = [x for base, x in paths if not any((b / x).exists() for b in (base, *bases))]

    assert len(paths) > 40
    assert not missing, f"correct these paths: {missing}"


def test_the_picture_of_the_porter_names_what_exists():
    """Each folder, file and type of the picture is one of the porter's."""
    source = "\n".join(path.read_text() for path in PORTER.rglob("*.py"))
    folders = re.findall(r"(\w+)/", PICTURE)
    types = re.findall(r"^(?:list\[)?([A-Z]\w+)", PICTURE, re.MULTILINE)
    steps = re.findall(r"^   │  (\w+)", PICTURE, re.MULTILINE)

    assert all((PORTER / folder).is_dir() for folder in folders) and len(folders) == 8
    assert set(types) == {"Request", "Program", "Written", "Ported"}
    assert all(re.search(rf"^class {name}\b", source, re.MULTILINE) for name in types)
    assert all(re.search(rf"^def {name}\(", source, re.MULTILINE) for name in steps), steps


def unit(folder, code):
    """Return the module of the guide's example, whose file is `models/unit.py`."""
    file = folder / "models" / "unit.py"
    file.parent.mkdir()
    file.write_text(f"import torch\nfrom torch import nn\n\n\n{code}")
    spec = importlib.util.spec_from_file_location("unit_of_the_guide", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, {spec.name: module}):
        spec.loader.exec_module(module)
    return module.Unit(3)


INPUTS = (np.ones((4, 3), np.float32),)


def text(functions):
    """Return functions as the guide shows them, without empty docstrings."""
    return "\n\n\n".join(map(function_text, functions)).replace('    """"""\n', "") + "\n"


def test_the_example_passes_through_the_steps_of_the_porter(tmp_path, monkeypatch):
    """The guide shows the functions and annotations after each step, and the written port."""
    module = unit(tmp_path, CLASS)
    merge, seen = interpretation.merge_modes, []

    def merge_modes(*runs):
        seen.append(text(itertools.chain(*runs)))
        return merge(*runs)

    monkeypatch.setattr(interpretation, "merge_modes", merge_modes)
    program = interpretation.interpret(module, INPUTS)
    entry = program.functions[-1]
    assert seen == [MODES]
    assert text([entry]) == MERGED

    nodes = [x for x in ast.walk(entry.node) if isinstance(x, ast.expr)]
    numbers = [x for node in nodes if (x := on_expression(node).number) and x.name_of]
    assert numbers == [Number(0.5, "scale", NameOf.ATTRIBUTE)]
    draws = [x for node in nodes if (x := on_expression(node).draw)]
    assert draws == [Key("drop")]
    parts = [x for node in nodes if (x := on_expression(node).part)]
    assert parts == [Part("", "linear", How.ATTRIBUTE)]
    for fact in (*numbers, *draws, *parts):
        shown = re.findall(rf"`({type(fact).__name__}\(.*?\))`", GUIDE)
        names = {"Number": Number, "Key": Key, "Part": Part, "NameOf": NameOf, "How": How}
        assert [eval(x, names) for x in shown] == [fact]

    assert port(module, INPUTS).source.endswith(WRITTEN)


def test_the_refusal_of_the_guide_is_raised(tmp_path):
    """A value-dependent size is refused with the line of the module."""
    call = "torch.roll(self.linear(x), 1, dims=-1)"
    assert call in CLASS
    module = unit(tmp_path, CLASS.replace(call, "torch.unique(self.linear(x))"))

    with pytest.raises(PortError) as caught:
        port(module, INPUTS, prove=False)
    assert str(caught.value).startswith(" ".join(REFUSAL.split()))


def test_the_golden_of_the_guide_has_the_line():
    """The line that the diff removes is in the golden."""
    name = DIFF.split()[2]
    (line,) = re.findall(r"^-( .*)$", DIFF, re.MULTILINE)

    assert line in (golden_ports.FOLDER / name).read_text().splitlines()
