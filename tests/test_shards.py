"""The suite can be split into parts, and a quick run has a sample of its cases."""

import pytest

from conftest import in_shard
from parity_tests.runner.settings import ROOT


pytest_plugins = "pytester"


def test_the_parts_hold_every_test_once():
    """Each of many names is in exactly one part, and no part has more than 40 % of the names."""
    names = [f"tests/test_x.py::test_{n}" for n in range(3000)]
    parts = [[name for name in names if in_shard(name, f"{n}/3")] for n in (1, 2, 3)]

    assert sorted(name for part in parts for name in part) == sorted(names)
    assert max(map(len, parts)) < 0.4 * len(names)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "2", "a/b", "1/0"])
def test_a_wrong_part_says_what_to_write(shard):
    """A part that does not exist is a usage error with the form of a correct one."""
    with pytest.raises(pytest.UsageError, match=f"SHARD={shard}: write SHARD=2/3 for the second"):
        in_shard("tests/test_x.py::test_y", shard)


SUITE = """
import pytest

@pytest.mark.slow
def test_slow(): pass

def test_quick(): pass

@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", range(7))
def test_many(n): pass

class TestOther:
    @pytest.mark.sampled(2)
    @pytest.mark.parametrize("n", range(2))
    def test_many(self, n): pass
"""


@pytest.fixture
def collected(pytester, monkeypatch):
    """Return a function that collects `SUITE` and returns the names of the tests that would run."""
    pytester.makeconftest((ROOT / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(test_suite=SUITE)
    for name in ("SHARD", "TEST_ALL"):
        monkeypatch.delenv(name, raising=False)

    def collect(*arguments: str) -> list[str]:
        out = pytester.runpytest_inprocess("--collect-only", "-q", *arguments).outlines
        return [line.split("::", 1)[1] for line in out if "::" in line]

    return collect


def test_a_quick_run_has_no_slow_test_and_a_sample_of_the_cases(collected):
    """`make test` leaves out what takes long; of sampled cases it runs the first of every n."""
    cases = ["test_many[0]", "test_many[3]", "test_many[6]"]
    assert collected() == ["test_quick", *cases, "TestOther::test_many[0]"]


def test_with_test_all_every_test_runs(collected, monkeypatch):
    """`make test-all` runs the slow tests and every case."""
    monkeypatch.setenv("TEST_ALL", "1")
    cases = [f"test_many[{n}]" for n in range(7)]
    other = [f"TestOther::test_many[{n}]" for n in range(2)]
    assert collected() == ["test_slow", "test_quick", *cases, *other]


def test_a_case_that_is_named_runs(collected):
    """A case that the sample leaves out runs if pytest is given its name."""
    assert collected("test_suite.py::test_many[4]") == ["test_many[4]"]
