"""Of two planted bugs a report names those that one of its statements fits."""

import pytest

from jaxgrad.parity import Finding, Report, Surface
from parity_tests.audits import planted_bugs, planted_pairs
from parity_tests.audits.planted_pairs import PairResult
from parity_tests.ports.bug import Bug


EPS = Bug("eps", "forward", "norm", plant=dict(eps=1), cause="eps is")
SCALE = Bug("scale", "forward", "attn", plant=dict(scale=1), cause="torch's mul is missing")


def finding(torch: str, cause: str = "", surface: str = "forward") -> Finding:
    return Finding(surface, torch, "port.py:3", "differs", cause=cause, tested=bool(cause))


def report(*findings: Finding) -> Report:
    forward = Surface("forward", "fail", "", findings=findings)
    return Report("fail", {"forward": forward}, first=findings[0])


def result(named: tuple[bool, bool], *, alone: bool = False, false: tuple[str, ...] = ()):
    return PairResult("net", "a", "b", "fail", named, alone, ["forward: x"], 1, list(false), 0.1)


@pytest.mark.parametrize(
    "findings, expected",
    [
        ([finding("norm")], (True, False)),
        ([finding("fc", "eps is 1, torch uses 2")], (True, False)),
        ([finding("fc")], (False, False)),
        ([finding("norm"), finding("attn", "torch's mul is missing")], (True, True)),
        ([finding("attn", "eps is 1, torch uses 2")], (True, False)),
    ],
)
def test_a_bug_is_named_by_its_place_or_by_its_cause(findings, expected):
    """A statement counts for one bug, even if its place fits one bug and its cause another."""
    assert planted_pairs.bugs_named(report(*findings), (EPS, SCALE)) == expected


def test_one_statement_is_not_counted_for_two_bugs():
    """Two bugs with the same place need two statements."""
    alike = Bug("other", "forward", "norm")

    assert planted_pairs.bugs_named(report(finding("norm")), (EPS, alike)) == (True, False)


@pytest.mark.parametrize(
    "named, alone, at_once, in_turn",
    [
        ((True, True), False, True, True),
        ((True, False), True, False, True),
        ((True, False), False, False, False),
        ((False, False), True, False, False),
    ],
)
def test_both_bugs_are_found_at_once_or_in_turn(named, alone, at_once, in_turn):
    """In turn, the bug that is named is mended, and the other one must be found alone."""
    pair = result(named, alone=alone)

    assert (pair.at_once, pair.in_turn) == (at_once, in_turn)


def test_the_summary_counts_both_notions_and_the_false_causes():
    """The table has a row for each pair, with what was reported."""
    rows = [
        result((True, True)),
        result((False, True), alone=True, false=("x | y",)),
        result((False, False)),
    ]

    lines = planted_pairs.summary(rows)
    assert lines[1].startswith(
        "one report names both bugs of 1 pairs (33%) and one bug at least of 2"
    )
    assert lines[2].startswith("one after the other, both bugs of 2 pairs are found (67%)")
    assert lines[3] == "3 causes are said to be confirmed, 1 of them are false"
    table = planted_pairs.table(rows).splitlines()
    assert table[2] == "| net | a and b | both | yes | forward: x |  |"
    assert table[3] == r"| net | a and b | b | yes | forward: x | x \| y |"
    assert table[4] == "| net | a and b | none | no | forward: x |  |"


def test_the_drawn_pairs_are_the_same_in_every_call_and_share_no_option():
    """The pairs are of one port, and their plants exclude each other in no option."""
    pairs = planted_pairs.drawn(3, ["batch_norm"])

    assert len(pairs) == 3 and pairs == planted_pairs.drawn(3, ["batch_norm"])
    for name, first, second in pairs:
        plants = [planted_pairs.bug_of(name, label).plant.keys() for label in (first, second)]
        assert name == "batch_norm" and not plants[0] & plants[1]


def test_a_false_cause_of_a_pair_fails_the_command(tmp_path, monkeypatch, capsys):
    """The results are written in the order of the ports."""
    false = {"a": ("x",), "b": ()}
    monkeypatch.setattr(
        planted_pairs, "drawn", lambda n, patterns: [("b", "k", "l"), ("a", "k", "l")]
    )
    monkeypatch.setattr(
        planted_pairs,
        "judge_pair",
        lambda name, *labels: result((True, True), false=false[name])._replace(port=name),
    )
    table = tmp_path / "pairs.md"

    assert planted_bugs.main(["--pairs", "2", "--markdown", str(table)]) == 1
    assert "  FALSE CAUSE x" in capsys.readouterr().out
    rows = [line.split(" | ")[0] for line in table.read_text().splitlines() if "a and b" in line]
    assert rows == ["| a", "| b"]
    monkeypatch.setattr(planted_pairs, "drawn", lambda n, patterns: [("b", "k", "l")])
    assert planted_bugs.main(["--pairs", "2"]) == 0
