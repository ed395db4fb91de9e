"""`python -m jaxgrad.parity lint` lists where the gradient of a function in a file differs."""

import json

import pytest

from jaxgrad.parity.__main__ import main


MODEL = """
import jax.numpy as jnp
from flax import nnx

def loss(params, x):
    return jnp.abs(params * x).sum()

def make_inputs():
    return jnp.ones(2), jnp.array([0.0, 1.0])

def lint_loss():
    return loss, *make_inputs()

def lint_smooth():
    return jnp.tanh, jnp.zeros(2)

def lint_bound():
    return lambda x: jnp.clip(x, -1, 1).sum(), jnp.ones(1)

def lint_model():
    return nnx.Linear(2, 2, rngs=nnx.Rngs(0)), jnp.zeros((1, 2))

def one_array():
    return jnp.zeros(2)

def pair():
    return jnp.zeros(2), loss

def too_few():
    return loss, jnp.zeros(2)

def fails():
    raise ValueError("no data")

def wrong_shapes():
    return loss, jnp.zeros(2), jnp.zeros(3)
"""


@pytest.fixture
def model(tmp_path):
    """The path of the user's file."""
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("arguments", [["lint_loss"], ["loss", "--inputs", "make_inputs"]])
def test_the_findings_of_a_function_are_printed(model, capsys, arguments):
    """A function returns `(fn, *args)`, or `--inputs` names the function of the arguments."""
    name, *rest = arguments

    assert main(["lint", f"{model}::{name}", *rest]) == 1
    printed = capsys.readouterr().out
    assert "1 place where the gradient of torch " in printed
    assert "model.py:6  abs: 1 of 2 at 0\n" in printed
    assert "    remedy: jaxgrad.functional.abs\n" in printed


@pytest.mark.parametrize(
    ("name", "text"),
    [("lint_smooth", "nothing was compared: "), ("lint_model", " hold at these values (")],
)
def test_a_function_without_findings_has_status_0(model, capsys, name, text):
    """A function or a flax model whose gradients agree passes."""
    assert main(["lint", f"{model}::{name}"]) == 0
    assert text in capsys.readouterr().out


def test_the_version_of_torch_is_an_option(model, capsys):
    """`--torch` states the conventions of another version, and an unknown one is refused."""
    for version, gradient in (("2.13", "1"), ("2.15", "0")):
        assert main(["lint", f"{model}::lint_bound", "--torch", version]) == 1
        assert f"gradient in torch {version}: {gradient}; in JAX: 0.5" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["lint", f"{model}::lint_bound", "--torch", "1.4"])
    assert "1.4" in capsys.readouterr().err


def test_the_findings_are_written_as_json(model, tmp_path):
    """`--json` writes the report, whose findings have the fields of `lint`."""
    path = tmp_path / "findings.json"

    assert main(["lint", f"{model}::lint_loss", "--json", str(path)]) == 1
    (finding,) = json.loads(path.read_text())["findings"]
    assert finding["primitive"] == "abs" and finding["line"] == "model.py:6"


@pytest.mark.parametrize(
    ("target", "status", "words"),
    [
        ("", 2, "name the function that returns (fn, *args), as in {}::"),
        ("missing", 2, "{} has no function 'missing'; it has "),
        ("loss", 2, "{}::loss takes arguments: pass --inputs NAME, a function that returns them"),
        ("one_array", 2, "{}::one_array returned an array of shape (2,); return (fn, "),
        (
            "pair",
            2,
            "{}::pair returned a tuple of length 2 that begins with an array of shape (2,); return "
            "(fn, *args), as in loss, params, x",
        ),
        ("too_few", 1, "lint: loss(params, x) cannot be called with the 1 argument after it"),
        ("fails", 1, "fails() raised ValueError at {}:33: no data"),
        ("wrong_shapes", 1, "wrong_shapes raised TypeError at {}:6: mul got incompatible shapes"),
        ("loss --inputs one_array", 2, "--inputs one_array returned an array of "),
        ("loss --inputs absent", 2, "{} has no function 'absent'"),
        ("lint_loss --json", 2, "--json {}: cannot be written: it is a folder"),
    ],
)
def test_a_wrong_target_says_what_to_do(model, tmp_path, capsys, target, status, words):
    """Each mistake has a message with the user's names; an exception names its line."""
    name, *rest = target.split() if target else [""]
    rest += [str(tmp_path)] if rest == ["--json"] else []
    path = tmp_path if "--json" in rest else model

    assert main(["lint", f"{model}::{name}" if name else str(model), *rest]) == status
    captured = capsys.readouterr()
    assert captured.err.startswith(words.format(path)) and captured.out == ""


def test_a_missing_file_has_the_advice_of_this_command(tmp_path, capsys):
    """`lint` needs a function that returns a function and its arguments, not a pair."""
    advice = "; pass the file of a function that returns (fn, *args), as in model.py::make\n"
    for target in ("nofile.py::f", "nofile.py"):
        assert main(["lint", f"{tmp_path}/{target}"]) == 2
        assert capsys.readouterr().err.endswith(f"nofile.py' does not exist{advice}")
    assert main(["lint", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"'{tmp_path}' is a folder{advice}"


def test_help_has_the_exit_statuses(capsys):
    """`--help` prints the usage alone, with the meaning of each exit status."""
    with pytest.raises(SystemExit, match="0"):
        main(["lint", "--help"])
    captured = capsys.readouterr()
    assert captured.err == "" and "usage: python -m jaxgrad.parity lint " in captured.out
    assert "Exit status: 0 no finding, 1 findings" in captured.out
