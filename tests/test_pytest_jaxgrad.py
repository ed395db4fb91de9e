"""The pytest plugin, which proves ports in tests."""

import pathlib
import re
import tomllib

import pytest

from jaxgrad.parity.__main__ import main
from tests.jaxgrad.parity.prove._helpers import PAIRS


pytest_plugins = "pytester"


TESTS = """
import pytest
from pair_file import *

def test_good(grad_parity):
    assert grad_parity(layer, port, params, inputs).verdict == "pass"

def test_wrong(grad_parity):
    grad_parity(layer, wrong, params, inputs)

def test_error(grad_parity):
    with pytest.raises(AssertionError, match="the first argument is an int"):
        grad_parity(3, port, params, inputs)
"""
ROOT = pathlib.Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
SNIPPET, PAIR = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PLUGIN = ("-p", "pytest_jaxgrad", "-p", "no:cacheprovider", "-W", "error", "--strict-markers")


@pytest.fixture
def run_tests(pytester, monkeypatch):
    """Run these tests with pytest in another process."""
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parents[1]))

    def run(text: str, *options: str):
        pytester.makepyfile(pair_file=PAIRS, test_ports=text)
        return pytester.runpytest_subprocess(*PLUGIN, *options, timeout=300)

    return run


def test_the_fixture_proves_and_reports(run_tests, pytester):
    """The fixture fails a test with a wrong port, and the summary and page list all proofs.

    One of the tests is the snippet of the documentation, whose lines the summary prints.
    """
    pytester.makepyfile(test_port=SNIPPET)
    result = run_tests(TESTS, "--grad-parity-html", "proofs.html")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "PASS         test_ports.py::test_good  Linear | port (pair_file.py:*",
            "FAIL         test_ports.py::test_wrong  Linear | wrong *forward: torch * | jax *",
            "ERROR        test_ports.py::test_error  int | port *the first argument is an int*",
            "PASS         test_port.py::test_my_port  Linear | port (test_port.py:9)",
            "4 proofs in *proofs.html",
            "E *AssertionError: FAIL  Linear | wrong*",
        ]
    )
    page = (pytester.path / "proofs.html").read_text(encoding="utf-8")

    assert "1 of 4 ports differs from torch; 1 could not be compared." in page
    assert "test_ports.py::test_wrong" in page


@pytest.mark.slow
def test_proofs_of_workers_are_in_the_summary(run_tests):
    """Proofs that a pytest-xdist worker ran are in the summary."""
    result = run_tests(TESTS, "-k", "good", "-n", "1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["PASS         test_ports.py::test_good  Linear | port (pair_*"])


def test_an_unused_plugin_imports_neither_framework(run_tests, monkeypatch):
    """A run without proofs prints nothing and imports neither JAX nor torch."""
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


def test_a_missing_folder_is_reported_before_the_tests(run_tests):
    """A page in a missing folder is a usage error before any test runs."""
    result = run_tests(TESTS, "--grad-parity-html", "no/such/page.html")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*html no/such/page.html: cannot be written: there is no folder *")


def test_the_entry_point_is_the_module():
    """The entry point for pytest is the module beside the package."""
    root = pathlib.Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"pytest_jaxgrad": "pytest_jaxgrad"}
    assert (root / "pytest_jaxgrad.py").is_file()


def test_the_documentation_has_what_is_printed():
    """The page has the lines of the summary, and the README leads to the page."""
    proof = "PASS         test_port.py::test_my_port  Linear | port (test_port.py:9)"

    assert "](docs/pytest.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{proof}\n1 proof in proofs.html\n" in PAGE
    assert SNIPPET.splitlines()[8].strip().startswith("def port("), "the line that is printed"


def test_the_pair_of_the_documentation_is_a_pair(tmp_path, monkeypatch, capsys):
    """The command line proves the file that the page shows, and prints the lines below it."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("pair.py").write_text(PAIR, encoding="utf-8")
    shown = re.findall(r"^\$ python -m jaxgrad.parity (.*)\n(.*)\n\.\.\.\n(.*)\n(.*)$", PAGE, re.M)
    ((options, *lines),) = shown

    assert main(options.split()) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [printed[0], *printed[-2:]] == lines


@pytest.mark.slow
def test_the_wrong_port_of_the_documentation_has_its_line(run_tests, pytester):
    """The page shows the line of the summary for the change that it names."""
    ((change, line),) = re.findall(r"With `(2 \* .*?)`\nin the port:\n\n```console\n(.*)\n", PAGE)
    pytester.makepyfile(test_port=SNIPPET.replace('p["bias"]', change))
    result = run_tests("", "test_port.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([line])
