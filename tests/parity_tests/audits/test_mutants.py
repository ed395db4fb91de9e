"""Every mutant of a file is judged by its mirrored test file, in a process of its own."""

import time
from collections.abc import Sequence

import pytest

from parity_tests.audits import mutants


PATH = "jaxgrad/parity/prove/record/torch_side/frames.py"
pytestmark = pytest.mark.filterwarnings("ignore:.*fork")  # the children run no JAX program


def judged(monkeypatch, capsys, survivor: int, baseline: int = 0) -> str:
    """Judge all mutants of a file by a test that fails for all but one of them."""

    def run(tests: Sequence[str], mutant: str = "") -> tuple[str, int]:
        assert [test.rpartition("/")[2] for test in tests] == ["test_frames.py"]
        number = int(mutant.rpartition(":")[2] or -1)
        return "", baseline if not mutant else 0 if number == survivor else 1

    monkeypatch.setattr(mutants, "PRELOADED", ())
    monkeypatch.setattr(mutants, "_pytest", run)
    status = mutants.main(["--all-of", PATH])
    assert status == (survivor >= 0)
    return capsys.readouterr().out


@pytest.mark.slow
def test_each_mutant_of_a_file_is_killed_or_listed(monkeypatch, capsys):
    """The survivors are listed, and they set the exit status."""
    count = len(mutants.mutants_of(mutants.ROOT / PATH, "general"))
    assert f"{count} killed, 0 survived" in judged(monkeypatch, capsys, survivor=-1)
    out = judged(monkeypatch, capsys, survivor=0)
    assert f"{count - 1} killed, 1 survived" in out and f"survivors\n  {PATH}:" in out


@pytest.mark.slow
def test_tests_that_fail_without_a_mutant_judge_nothing(monkeypatch, capsys):
    """Tests that fail on the unchanged code end the audit: they would kill every mutant."""
    with pytest.raises(SystemExit, match="the tests fail even without a mutant"):
        judged(monkeypatch, capsys, survivor=0, baseline=1)


def test_a_mutant_that_loops_for_ever_is_killed(monkeypatch):
    """The process of a mutant that does not terminate is ended."""
    monkeypatch.setattr(mutants, "SECONDS", 0.1)
    monkeypatch.setattr(mutants, "_pytest", lambda *_: time.sleep(60))
    assert mutants._is_red(["a"])


def test_a_file_with_underscores_has_a_mirrored_test_file():
    """`__main__.py` is tested by `test_main.py`."""
    (tests, *_) = mutants.tests_of("jaxgrad/parity/__main__.py")
    assert [test.rpartition("/")[2] for test in tests] == ["test_main.py"]
