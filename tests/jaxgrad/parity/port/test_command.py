"""`python -m jaxgrad.parity port` writes a port of what a function of the user's file returns."""

import sys

import pytest

from jaxgrad.parity import __main__
from jaxgrad.parity.__main__ import main


MODEL = """
import numpy as np, torch
from torch import nn

def make_model():
    torch.manual_seed(0)
    return nn.Linear(3, 2), make_inputs()

def make_inputs():
    return (np.ones((4, 3), np.float32),)

def alone():
    return make_model()[0]

class Refused(nn.Module):
    def forward(self, x):
        return x * x.max().item()

def refused():
    return Refused(), make_inputs()
"""


@pytest.fixture
def model(tmp_path):
    """The path of the user's file."""
    path = tmp_path / "mymodel.py"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("arguments", [["make_model"], ["alone", "--inputs", "make_inputs"]])
def test_a_port_is_written_and_its_proof_is_printed(model, tmp_path, capsys, arguments):
    """The module comes with its inputs, or these come from a second function."""
    name, *rest = arguments
    target = tmp_path / "ported.py"

    assert main(["port", f"{model}::{name}", "-o", str(target), *rest]) == 0
    printed = capsys.readouterr().out
    assert "linear(params, ...), " in printed and "PASS" in printed
    assert "return F.linear(x, **p)" in target.read_text()
    assert target.with_suffix(".proof.json").is_file()


def test_the_style_is_an_option(model, tmp_path, capsys):
    """`--style nnx` writes a flax class, and prints how the model is made."""
    target = tmp_path / "ported.py"

    arguments = ["port", f"{model}::make_model", "-o", str(target), "--style", "nnx"]
    assert main(arguments) == 0
    assert "ported.py: Linear(), " in capsys.readouterr().out
    assert "class Linear(nnx.Module):" in target.read_text()


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("refused", 1, "item() reads the value of a tensor"),
        ("alone", 2, "returns Linear; return (module, inputs), or pass --inputs NAME"),
        ("", 2, "name the function that returns the module"),
        ("missing", 2, "has no function 'missing'"),
    ],
)
def test_what_cannot_be_ported_has_a_message_and_a_status(
    model, tmp_path, capsys, name, status, words
):
    """A refusal has status 1, and a wrong target is a usage error."""
    target = f"{model}::{name}" if name else str(model)

    assert main(["port", target, "-o", str(tmp_path / "out.py")]) == status
    assert words in capsys.readouterr().err


def test_the_bar_moves_with_each_step_of_writing_and_proving(model, tmp_path, monkeypatch):
    """The bar of `port` and `verify` knows the names of the steps."""
    steps = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    monkeypatch.setattr(__main__, "_lines", lambda title: steps.append)
    target = tmp_path / "ported.py"

    assert main(["port", f"{model}::make_model", "-o", str(target)]) == 0
    known = [step for step in steps if step in __main__.PORT_STEPS]
    assert (known[0], known[-1]) == ("write", "save")
    assert {"train: torch", "train: align", "train: updates"} <= set(known)

    steps.clear()
    assert main(["verify", str(target)]) == 0
    assert "train: align" in steps
