"""The matrix of versions: its entries, and what it reads from a run."""

import re
import tomllib

import pytest

from parity_tests.audits import version_matrix
from parity_tests.runner.settings import ROOT


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
JUNIT = """<testsuites><testsuite>
<testcase classname="t" name="a"/>
<testcase classname="t" name="b"><failure message="no"/></testcase>
<testcase classname="t" name="c"><error message="no"/></testcase>
<testcase classname="t" name="d"><skipped/></testcase>
</testsuite></testsuites>"""


def test_the_floor_pins_the_lower_bound_of_every_dependency():
    """The constraints of the floor hold each lower bound that pyproject.toml gives a user."""
    text = version_matrix.floor()

    for need in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["torch"]):
        assert need.replace(">=", "==") in text.splitlines(), need
    assert "ruff" not in text, "a tool of the developers is not part of the floor"


def test_the_pins_cover_every_supported_python():
    """Each Python in the classifiers has an entry with the pins, and the floor has the oldest."""
    classifiers = " ".join(PROJECT["classifiers"])
    pythons = re.findall(r"Python :: (3\.\d+)", classifiers)
    pinned = [e.python for e in version_matrix.ENTRIES.values() if e.allowed == "pins"]

    assert pinned == pythons
    assert version_matrix.ENTRIES["floor"].python == pythons[0]
    assert PROJECT["requires-python"] == f">={pythons[0]}"


def test_a_report_gives_the_counts_and_the_names_of_failures(tmp_path):
    """Failures and errors are named, and a skipped test is not counted."""
    (tmp_path / "report.xml").write_text(JUNIT)
    result = version_matrix.counts(tmp_path / "report.xml")

    assert result == {"passed": 1, "of": 3, "failed": ["t::b", "t::c"]}


def test_an_unknown_entry_is_refused_with_the_known_ones(capsys):
    """A misspelled entry is a usage error that lists the entries."""
    with pytest.raises(SystemExit):
        version_matrix.main(["flor"])

    assert "there is no entry 'flor': write one of floor, pins-3.11" in capsys.readouterr().err


def test_a_run_with_a_record_of_this_commit_is_skipped(monkeypatch, tmp_path, capsys):
    """An interrupted matrix continues where it stopped: nothing is installed twice."""
    record = {"target": "parity", "commit": version_matrix.commit(), "passed": 1, "of": 1}
    (tmp_path / "floor.json").write_text(version_matrix.json.dumps([record]))
    monkeypatch.setattr(version_matrix, "RECORDS", tmp_path)

    def refuse(*args, **options):
        raise AssertionError("an environment was installed")

    monkeypatch.setattr(version_matrix, "install", refuse)
    assert version_matrix.run("floor", ["parity"], "", False) == [record]
    assert "already recorded" in capsys.readouterr().out
    monkeypatch.setattr(version_matrix, "ROOT", tmp_path)
    monkeypatch.setattr(version_matrix, "floor", lambda: "")
    with pytest.raises(AssertionError, match="installed"):
        version_matrix.run("floor", ["operators"], "", False)


def test_a_record_replaces_the_older_one_of_its_target(monkeypatch, tmp_path):
    """A new record keeps those of other targets and removes a failed installation's."""
    monkeypatch.setattr(version_matrix, "RECORDS", tmp_path)
    monkeypatch.setattr(version_matrix, "ROOT", tmp_path)
    monkeypatch.setattr(version_matrix, "install", lambda *args: {"python": "3"})
    monkeypatch.setattr(version_matrix, "_measure", lambda *args: {"passed": 2, "of": 2})
    old = [{"target": t, "commit": "old"} for t in ("operators", "parity", "install")]
    (tmp_path / "newest.json").write_text(version_matrix.json.dumps(old))

    version_matrix.run("newest", ["parity"], "", True)
    records = version_matrix.read("newest")

    assert [(r["target"], r.get("passed")) for r in records] == [("operators", None), ("parity", 2)]
    assert records[1]["command"] == "make matrix ARGS='newest --run parity'"
