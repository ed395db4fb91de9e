"""The kill table writes the bugs that it has judged if it is interrupted."""

import json

import pytest

from parity_tests.audits import planted_bugs
from parity_tests.audits.planted_bugs import BugResult, main


def judged(name: str, label: str, checks: bool) -> BugResult:
    del checks
    return BugResult(
        port=name,
        bug=label,
        silent=True,
        surface="forward",
        where="",
        found=True,
        right_surface=True,
        right_place=True,
        reported="found",
        cause="eps is 1",
        judged="right",
        confirmed=1,
        false=[],
        seconds=0.1,
        checks={},
        golden={},
    )


def test_an_interrupted_kill_table_writes_the_judged_bugs(tmp_path, monkeypatch, capsys):
    """The JSON has the bugs so far; the table in a markdown file would lose rows, so it stays."""
    calls = iter(range(3))

    def interrupt_at_the_third(*task):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return judged(*task)

    monkeypatch.setattr(planted_bugs, "judge_named", interrupt_at_the_third)
    data, table = tmp_path / "a.json", tmp_path / "a.md"
    table.write_text("rows")

    assert main(["--sample", "5", "--json", str(data), "--markdown", str(table)]) == 130
    written = json.loads(data.read_text())
    assert written["interrupted"] is True
    assert len(written["kill_table"]["bugs"]) == 2
    assert table.read_text() == "rows"
    message = f"interrupted: 2 of 5 bugs are in {data}; not written: {table}\n"
    assert message in capsys.readouterr().err


def test_a_false_cause_fails_the_kill_table(monkeypatch, capsys):
    """The summary counts the causes that are said to be confirmed, and the table has a column."""
    monkeypatch.setattr(planted_bugs.report_goldens, "difference", lambda *_: "")
    row = judged("net", "bug", False)._replace(judged="false", false=["eps is 1"])
    assert planted_bugs.table([row]).splitlines()[2].endswith("| found | false |")
    monkeypatch.setattr(planted_bugs, "judge_named", lambda *_: row)

    assert main(["--sample", "1"]) == 1
    out = capsys.readouterr().out
    assert "  FALSE CAUSE eps is 1" in out
    assert "1 causes are said to be confirmed, 1 of them are false" in out
    monkeypatch.setattr(planted_bugs, "judge_named", judged)
    assert main(["--sample", "1"]) == 0


def test_the_written_files_are_named_before_the_last_line(tmp_path, monkeypatch, capsys):
    """A complete run names its files, and the table explains its columns."""
    monkeypatch.setattr(planted_bugs, "judge_named", judged)
    data, table = tmp_path / "a.json", tmp_path / "a.md"

    main(["--sample", "2", "--no-checks", "--json", str(data), "--markdown", str(table)])
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("2 passed, 0 failed")
    assert lines[at - 1] == f"written: {data}, {table}"
    assert planted_bugs.LEGEND in table.read_text()


def test_a_kill_table_that_cannot_be_written_is_refused(tmp_path, monkeypatch, capsys):
    """The message has the option, the path and the reason, before any bug is judged."""
    monkeypatch.setattr(planted_bugs, "judge_named", lambda *task: 1 / 0)
    path = tmp_path / "absent" / "a.json"
    with pytest.raises(SystemExit, match="2"):
        main(["--sample", "1", "--json", str(path)])
    reason = f"there is no folder {path.parent}"
    assert f"--json {path}: cannot be written: {reason}" in capsys.readouterr().err
