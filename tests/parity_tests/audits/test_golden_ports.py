"""A port is recorded as it is written, and compared with its golden as a diff."""

import pathlib

import numpy as np
import pytest
from torch import nn

from jaxgrad.parity.port.port import port
from parity_tests.audits import golden_ports
from parity_tests.runner.settings import ROOT


X = (np.ones((2, 3), np.float32),)


def test_the_goldens_are_of_the_pinned_versions():
    """CI, which installs the pins for Python 3.11, compares every golden."""
    pins = (ROOT / "constraints.txt").read_text()
    wanted = golden_ports.kept_versions()

    assert wanted["python"] == "3.11"
    assert f"torch=={wanted['torch']}\n" in pins
    for package in ("jax", "flax"):
        assert f"{package}=={wanted[package]}; python_version < '3.12'\n" in pins


def test_both_styles_of_each_port_are_recorded():
    """A port is recorded when it is written, in the style that was not asked for too."""
    with golden_ports.listening(both=True) as ports:
        ported = port(nn.Linear(3, 2), X, prove=False)
        port(nn.Linear(3, 2), X, prove=False, style="nnx")

    assert ports[0] == ports[1]
    assert ports[0]["functions"] == ported.source
    assert "class Linear(nnx.Module)" in ports[0]["nnx"] or "jaxgrad.nnx" in ports[0]["nnx"]


def test_only_the_style_that_was_asked_for_is_recorded_by_default():
    """Without `both`, a test takes no longer than it takes without goldens."""
    with golden_ports.listening(both=False) as ports:
        port(nn.Linear(3, 2), X, prove=False)

    assert ports[0]["functions"] and not ports[0]["nnx"]


class Positions(nn.Module):
    def forward(self, x):
        return x[x > 0]


def test_the_reason_of_a_refusal_is_recorded():
    """A refused module is recorded with the first line of the message, and still raises."""
    with golden_ports.listening(both=False) as ports, pytest.raises(Exception, match="mask"):
        port(Positions(), X)

    assert ports[0]["functions"].startswith("# PortError: ")
    assert ports[0]["functions"].count("\n") == 1


def test_ports_need_no_proof_to_be_recorded():
    """Without proofs, a port has an empty report that passes, and the same source."""
    with golden_ports.listening(both=False, proofs=False) as ports:
        ported = port(nn.Linear(3, 2), X)

    assert ported.report is not None and ported.report.verdict == "pass"
    assert not ported.report.surfaces
    assert ports[0]["functions"] == ported.source


@pytest.fixture
def goldens(tmp_path, monkeypatch) -> pathlib.Path:
    """A folder with the goldens of a test that writes two ports."""
    monkeypatch.setattr(golden_ports, "FOLDER", tmp_path)
    texts = {"functions": "def f(x):\n    return x\n", "nnx": "class F: ...\n"}
    golden_ports.write_test("tests/a/test_b", [texts, texts], tmp_path, ended=False)
    return tmp_path


def test_a_difference_is_a_diff_with_the_name_of_the_golden(goldens):
    """Equal sources have no diff; texts that were not written are not compared."""
    same = {"functions": "def f(x):\n    return x\n", "nnx": ""}
    changed = {"functions": "def f(x):\n    return 2 * x\n", "nnx": ""}

    assert golden_ports.differences("tests/a/test_b", [same, same]) == ""
    assert golden_ports.differences("tests/a/test_b", [same, changed]).splitlines()[-3:] == [
        " def f(x):",
        "-    return x",
        "+    return 2 * x",
    ]
    assert "golden tests/a/test_b.functions.py" in golden_ports.differences(
        "tests/a/test_b", [same, changed]
    )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_ports_is_a_difference(goldens, count):
    """A test that writes fewer or more ports than its goldens have differs."""
    same = {"functions": "def f(x):\n    return x\n", "nnx": ""}

    assert golden_ports.differences("tests/a/test_b", [same] * count)


def test_a_port_without_a_golden_is_a_difference(goldens):
    """The diff of a new test has its whole source."""
    new = {"functions": "def f(x):\n    return x\n", "nnx": ""}

    assert "+def f(x):" in golden_ports.differences("tests/a/test_new", [new])


def test_a_test_that_ended_early_is_compared_as_far_as_it_ran(goldens, tmp_path_factory, capsys):
    """Its further ports are counted as not compared; `keep` leaves its goldens as they are."""
    new = tmp_path_factory.mktemp("new")
    texts = {"functions": "def f(x):\n    return x\n", "nnx": "class F: ...\n"}
    golden_ports.write_test("tests/a/test_b", [texts], new, ended=True)

    assert golden_ports.ended(new) == ["tests/a/test_b"]
    assert golden_ports.compare(new, []) == 0
    assert "2 of 4 sources are compared; 0 files differ" in capsys.readouterr().out
    golden_ports.keep(new, [])
    assert golden_ports.differences("tests/a/test_b", [texts, texts]) == ""
    assert "tests/a/test_b: the test fails" in capsys.readouterr().out


def test_a_port_that_only_its_proof_refuses_is_not_compared_without_proofs(
    goldens, tmp_path_factory, capsys
):
    """Such a test ends after a port that its golden refuses; a changed source still differs."""
    refused = {"functions": "# PortError: the port of F is not proved:\n", "nnx": "class F: ...\n"}
    golden_ports.write_test("tests/a/test_b", [refused], goldens, ended=False)
    new = tmp_path_factory.mktemp("new")
    texts = {"functions": "def f(x):\n    return x\n", "nnx": "class F: ...\n"}
    golden_ports.write_test("tests/a/test_b", [texts], new, ended=True)

    assert golden_ports.compare(new, []) == 0
    assert "1 of 2 sources are compared" in capsys.readouterr().out
    changed = {"functions": texts["functions"], "nnx": "class G: ...\n"}
    golden_ports.write_test("tests/a/test_b", [changed], new, ended=True)
    assert golden_ports.compare(new, []) == 1


def test_goldens_that_nothing_writes_are_removed(goldens, tmp_path_factory, capsys):
    """`keep` copies what was written, and removes the goldens that were not written again."""
    new = tmp_path_factory.mktemp("new")
    texts = {"functions": "x = 1\n", "nnx": "y = 1\n"}
    golden_ports.write_test("tests/a/test_c", [texts], new, ended=False)

    assert golden_ports.compare(new, []) == 4
    golden_ports.keep(new, [])

    names = ["tests/a/test_c.functions.py", "tests/a/test_c.nnx.py"]
    assert golden_ports.files(goldens) == names
    assert golden_ports.compare(new, []) == 0
    assert "2 goldens" in capsys.readouterr().out


def test_the_numbers_of_lines_are_masked():
    """A golden does not change when a test above its module gets another line."""
    text = '    """Net (loops/test_scans.py:12): x (N, 3)."""'

    assert golden_ports.masked(text) == '    """Net (loops/test_scans.py:0): x (N, 3)."""'
