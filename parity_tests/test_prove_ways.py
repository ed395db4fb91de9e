"""The ways in to `prove`: the command line, the pytest plugin, dumps."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import tomllib

import pytest

from jaxgrad.parity import Finding, Report, Surface
from jaxgrad.parity.__main__ import main


pytest_plugins = "pytester"

PAIRS = textwrap.dedent(
    """
    import numpy as np
    import torch

    from jaxgrad.parity import Report, Surface

    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    params = {name: x.detach().numpy() for name, x in layer.state_dict().items()}
    inputs = (np.linspace(-1.0, 1.0, 12).reshape(4, 3),)

    def port(params, x):
        return x @ params["weight"].T + params["bias"]

    def planted(params, x):
        return x @ params["weight"].T - params["bias"]

    def pair_good():
        return layer, port, params, inputs

    def pair_planted():
        return dict(module=layer, fn=planted, params=params, inputs=inputs)

    def noisy():
        return Report("inconclusive", {"forward": Surface("forward", "inconclusive", "")})

    def raises():
        return 1 / 0

    def number():
        return 3

    def misspelt():
        return dict(module=layer, fn=port, parms=params)
    """
)


@pytest.fixture
def pairs(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "pair_file.py"
    path.write_text(PAIRS)
    return path


def test_a_pair_that_holds(pairs, capsys):
    """One pair by its name: its report, the steps on stderr, exit 0."""
    status = main([f"{pairs}::pair_good"])
    out, err = capsys.readouterr()

    assert status == 0, out
    assert out.startswith("PASS  pair_file.py::pair_good  Linear | port")
    assert out.endswith("1 passed, 0 failed\n")
    assert "[1/1] pair_file.py::pair_good: jax backward" in err


def test_every_pair_of_a_file(pairs, tmp_path, capsys):
    """Without a name: all that start with `pair`; the worst decides; JSON and page hold all."""
    page, document = tmp_path / "proofs.html", tmp_path / "proofs.json"
    status = main([str(pairs), "--html", str(page), "--json", str(document), "--seed", "3"])
    found = json.loads(document.read_text())["proofs"]

    assert status == 1
    assert [proof["verdict"] for proof in found] == ["pass", "fail"]
    assert found[1]["first"]["surface"] == "forward"
    assert "1 of 2 ports are not proved." in page.read_text(encoding="utf-8")
    assert capsys.readouterr().out.endswith("1 passed, 1 failed\n")


@pytest.mark.parametrize(
    ("names", "status"),
    [(["noisy"], 4), (["noisy", "number"], 1), (["raises"], 1)],
)
def test_exit_status(pairs, names, status):
    """4 where rounding forbids a verdict, and the worst of several."""
    assert main([f"{pairs}::{name}" for name in names]) == status


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", "raises() raised ZeroDivisionError at pair_file.py:28: division by zero"),
        ("number", "number() gave int; give a dict of the arguments of prove, the tuple"),
        ("misspelt", "misspelt() gave unknown ['parms']; the arguments of prove are module, fn,"),
    ],
)
def test_a_pair_that_gives_nothing_usable(pairs, capsys, name, words):
    """What the user's own function did is said in a sentence."""
    assert main([f"{pairs}::{name}"]) == 1
    assert words in capsys.readouterr().out


def test_usage(pairs, tmp_path, capsys):
    """No file, no name, no pair, no folder, a file that raises: exit 2, and what there is."""
    empty, broken = tmp_path / "empty.py", tmp_path / "broken.py"
    empty.write_text("def port():\n    pass\n")
    broken.write_text("x = 1\nx.y\n")
    said = {}
    for arguments in (
        ["nowhere.py"],
        [f"{pairs}::pair_god"],
        [str(empty)],
        [str(broken)],
        [f"{pairs}::noisy", "--html", str(tmp_path / "no" / "page.html")],
    ):
        status = main(arguments)
        said[arguments[-1]] = capsys.readouterr().err
        assert status == 2, said
    said = list(said.values())

    assert "there is no file 'nowhere.py'; give pair.py or pair.py::name" in said[0]
    assert "has no function 'pair_god'; it has pair_good, pair_planted" in said[1]
    assert "no function whose name starts with 'pair'; it has port; name one:" in said[2]
    assert "cannot be imported: it raised AttributeError at broken.py:2:" in said[3]
    assert "cannot be written: there is no folder" in said[4]


def test_without_torch(pairs):
    """Where torch is missing: exit 3, and one line that installs it."""
    code = """
        import sys
        sys.modules["torch"] = None
        from jaxgrad.parity.__main__ import main
        sys.exit(main(sys.argv[1:]))
    """
    done = _python(textwrap.dedent(code), f"{pairs}::pair_good")

    assert done.returncode == 3, done.stderr
    assert done.stderr.strip() == "torch is not installed; run: pip install torch"


# -- the pytest plugin

TESTS = """
import pytest
from pair_file import *

def test_good(grad_parity):
    assert grad_parity(layer, port, params, inputs).verdict == "pass"

def test_planted(grad_parity):
    grad_parity(layer, planted, params, inputs)

def test_error(grad_parity):
    with pytest.raises(AssertionError, match="the first argument is int"):
        grad_parity(3, port, params, inputs)
"""
PLUGIN = ("-p", "pytest_jaxgrad", "-p", "no:cacheprovider", "-W", "error", "--strict-markers")


@pytest.fixture
def run_tests(pytester, monkeypatch):
    """A pytest of its own, in a process of its own, on these tests."""
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent.parent))

    def run(text: str, *options: str):
        pytester.makepyfile(pair_file=PAIRS, test_ports=text)
        return pytester.runpytest_subprocess(*PLUGIN, *options, timeout=300)

    return run


@pytest.mark.parametrize("workers", ([], ["-n", "1"]))
def test_plugin(run_tests, pytester, workers):
    """The fixture proves and checks; the summary has a line a proof; the page has all of them."""
    result = run_tests(TESTS, "--grad-parity-html", "proofs.html", *workers)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "PASS         test_ports.py::test_good  Linear | port (pair_file.py:*",
            "FAIL         test_ports.py::test_planted  Linear | planted *forward: torch * | jax *",
            "ERROR        test_ports.py::test_error  int | port *the first argument is int, not a*",
            "3 proofs in *proofs.html",
            "E *AssertionError: FAIL  Linear | planted*",
        ]
    )
    page = (pytester.path / "proofs.html").read_text(encoding="utf-8")

    assert "2 of 3 ports are not proved." in page
    assert "test_ports.py::test_planted" in page


def test_plugin_unused(run_tests, monkeypatch):
    """A run without proofs prints nothing of it and imports neither jax nor torch."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins may import jax
    result = run_tests(
        """
        import sys

        def test_imports():
            assert "pytest_jaxgrad" in sys.modules
            assert not {"jax", "torch", "numpy", "jaxgrad"} & set(sys.modules)
        """
    )
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*gradient parity*")


def test_plugin_without_the_folder(run_tests):
    """A page that could not be written is said before any test runs."""
    result = run_tests(TESTS, "--grad-parity-html", "no/such/page.html")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*--grad-parity-html no/such/page.html: there is no such folder*")


def test_entry_point():
    """What pytest loads is the module that is beside the package, under its own name."""
    root = pathlib.Path(__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"pytest_jaxgrad": "pytest_jaxgrad"}
    assert (root / "pytest_jaxgrad.py").is_file()


def test_a_report_survives_json():
    """`from_dict` undoes `to_dict`, as far as JSON can hold it."""
    report = Report("fail", {"forward": Surface("forward", "fail", "", ({"name": "w"},))})
    found = Finding("forward", "fc", "net.py:3", "off", (0, 1), 1.5, 2.5)
    report = dataclasses.replace(report, first=found, notes=("a note",))

    assert Report.from_dict(json.loads(report.to_json())) == report


def _python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = pathlib.Path(__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
